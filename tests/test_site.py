"""The site of the documents: it builds strictly, loads nothing from elsewhere, and has every option and setting."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import CHROMIUM, Elements, needs_chromium
from site_questions import QUESTIONS
from test_documents import options

import regard
from regard.recipe import settings

ROOT = Path(__file__).parents[1]
SEARCH = "input.md-search__input"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a link to a page or a heading that does not exist, or a page that nothing leads to, ends it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    loaded = {
        (page.name, address)
        for page in pages
        for tag, attributes in Elements(page.read_text(encoding="utf-8")).found
        for name in ("src", "srcset", "data", "poster", *(["href"] if tag == "link" else []))
        if (address := attributes.get(name)) and attributes.get("rel") != "canonical"
    }
    assert loaded
    assert [each for each in loaded if re.match(r"(\w+:)?/", each[1])] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\((?!['\"]?data:)", sheet.read_text(encoding="utf-8")), sheet


def test_every_option_setting_and_public_name_is_on_a_page(site: Path) -> None:
    pages = {name: (site / f"reference/{name}.html").read_text(encoding="utf-8") for name in ("commands", "settings")}
    for command, known in options().items():
        assert f"regard {command}" in pages["commands"]
        assert [option for option in known if option.startswith("--") and option not in pages["commands"]] == []
    assert [each.name for each in settings() if f"<code>{each.name}</code>" not in pages["settings"]] == []
    names = (site / "reference/python.html").read_text(encoding="utf-8")
    left = {"__version__", "attention"}
    assert [name for name in regard.__all__ if name not in left and f"regard.{name}" not in names] == []


@needs_chromium
def test_what_users_ask_is_found_by_the_search_without_a_server(site: Path) -> None:
    """Opened as files. The page that answers a question is among the first three that its words find, with the section
    that does."""
    from playwright.sync_api import sync_playwright

    found, asked = {}, []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(str(CHROMIUM)), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        for _, words, _ in QUESTIONS:
            for typed, told in (("", "Type"), (words, "matching")):
                page.fill(SEARCH, typed)
                page.press(SEARCH, "End")  # the site searches when a key is released
                said = f"document.querySelector('.md-search-result__meta').innerText.includes('{told}')"
                page.wait_for_function(said)
            links = page.eval_on_selector_all(".md-search-result__link", "links => links.map(link => link.href)")
            found[words] = [re.sub(r"\.html(\?[^#]*)?", "", link.partition(f"{site}/")[2]) for link in links]
        browser.close()
    assert {words: found[words] for _, words, answer in QUESTIONS if not _is_early(answer, found[words])} == {}
    assert [address for address in asked if not address.startswith(("file:", "data:", "about:"))] == []


def _is_early(answer: str, links: list[str]) -> bool:
    """Whether a page, or a section of it, is among the links to the first three pages that were found."""
    pages = list(dict.fromkeys(link.partition("#")[0] for link in links))
    return answer in links and answer.partition("#")[0] in pages[:3]


def test_what_users_ask_is_answered_on_a_page_that_the_start_page_links_to(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    linked = {
        str(attributes.get("href")).removesuffix(".html") for tag, attributes in Elements(start).found if tag == "a"
    }
    assert len(QUESTIONS) == 63
    assert {answer.partition("#")[0] for _, _, answer in QUESTIONS} - linked == set()
