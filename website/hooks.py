"""What building the site adds to MkDocs: the navigation, the reference, and pages that stand outside of docs."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402

OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Pages of the site whose files are not in docs, and how the site calls them."""
BOOSTS = {
    **dict.fromkeys(("guides/recipes", "guides/decoding"), 3.0),
    **dict.fromkeys(("guides/", "tutorials/"), 1.0),
    **dict.fromkeys(("results/", "reference/python", "architecture", "benchmarks", "changelog", "contributing"), 0.3),
}
"""By how much the search prefers pages: those that say how to do something, and first where many settings are."""
ASSETS = ("favicon.svg", "iframe-worker.js", "style.css")
ENTRY = re.compile(r"\[([^\]]+)\]\(([^)\s#]+\.md)\)")
GROUP = re.compile(r"^- \*\*([^*]+)\*\*:(.*?)(?=^- |^$)", re.M | re.S)
LINK = re.compile(r"(?<=\]\()([^)\s#]+\.md)(?=[)#])")


def on_config(config: MkDocsConfig) -> None:
    """What stands on the left is what the start page links to."""
    config.nav = navigation((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    config.extra["polyfills"] = ["assets/iframe-worker.js"]  # or the theme would load one from elsewhere


def navigation(start: str) -> list[Any]:
    """The links below each heading of the start page, in its order and words; bullets that begin in bold are groups. A
    page that is linked twice stands where it is linked last."""
    _, *parts = re.split(r"^## (.+)$", start, flags=re.M)
    sections = list(zip(parts[::2], parts[1::2], strict=True))
    last = {path: heading for heading, text in sections for _, path in ENTRY.findall(text)}
    found: list[Any] = [{"Start": "index.md"}]
    for heading, text in sections:
        own = {path for path, place in last.items() if place == heading}
        groups = [{name: _entries(links, own)} for name, links in GROUP.findall(text)]
        if entries := groups or _entries(text, own):
            found.append({heading: entries})
    return found


def _entries(text: str, own: set[str]) -> list[Any]:
    entries = {OUTSIDE.get(path.lstrip("./"), path): label for label, path in ENTRY.findall(text) if path in own}
    return [{_titled(label): path} for path, label in entries.items()]


def _titled(label: str) -> str:
    text = " ".join(label.split())
    return text[:1].upper() + text[1:]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages that stand outside of docs, and what pages are dressed in."""
    for path, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    for name in ASSETS:
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(HERE / name)))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fills the places of the reference, and leads links out of docs to where the site has their pages."""
    source = page.file.src_uri
    page.meta["search"] = {"boost": next((boost for path, boost in BOOSTS.items() if source.startswith(path)), 0.6)}
    at = next((path for path, name in OUTSIDE.items() if name == source), f"docs/{source}")

    def led(link: re.Match[str]) -> str:
        if "://" in link[1]:
            return link[1]
        target = os.path.normpath(os.path.join(os.path.dirname(at), link[1]))
        on_site = OUTSIDE.get(target, "index.md" if target == "README.md" else target.removeprefix("docs/"))
        return os.path.relpath(on_site, os.path.dirname(source) or ".")

    return reference.filled(LINK.sub(led, markdown))


def on_post_template(output: str, template_name: str, **_: Any) -> str:
    """Lets the page for addresses that do not exist find its files without a server."""
    if template_name != "404.html":
        return output
    return re.sub(r'((?:href|src|"base")(?:=|: ?))"/', r'\1"./', output)
