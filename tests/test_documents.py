"""Documents name files, headings, figures, settings, commands and options that exist."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import reference

import regard
from regard.checkpoint import folder
from regard.cli.commands import commands, made
from regard.recipe.settings import settings

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "regard"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]
DOCUMENTS += sorted(ROOT.glob("docs/**/*.md"))
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(rf"{BLOCK.pattern}|`[^`\n]*`", BLOCK.flags)
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s]+)\)")


def links(document: Path) -> list[tuple[str, Path, str]]:
    """The text, file and anchor of each relative link in a document."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    parts = [(label, *target.partition("#")[::2]) for label, target in LINK.findall(text) if "://" not in target]
    return [(label, document.parent / path if path else document, anchor) for label, path, anchor in parts]


def sections(document: Path) -> dict[str, str]:
    """The text below each heading, by the anchor GitHub gives it: lower case, no punctuation, hyphens for spaces."""
    text = BLOCK.sub("", reference.filled(document.read_text(encoding="utf-8")))
    _, *parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in parts[::2]]
    return dict(zip(names, parts[1::2], strict=True))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    found = links(document)
    assert [str(path) for _, path, _ in found if not path.exists()] == []
    assert [f"{path.name}#{anchor}" for _, path, anchor in found if anchor and anchor not in sections(path)] == []


def test_a_figure_that_links_to_results_is_in_their_section() -> None:
    figures = [
        (document.name, number, sections(page)[anchor])
        for document in DOCUMENTS
        for label, page, anchor in links(document)
        if page.parent.name == "results" and anchor
        for number in re.findall(r"[+−]?\d[\d,.]*", label)
    ]
    assert len(figures) > 10
    missing = [
        (name, number)
        for name, number, section in figures
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d.,]*\d)", section)
    ]
    assert missing == []


GUIDES = [document for document in DOCUMENTS if document.name != "CHANGELOG.md"]  # which names what is gone
each_guide = pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))


def code_of(document: Path) -> list[str]:
    """What stands in backquotes within sentences; of pages for people who come from elsewhere, what is ours: it stands
    in the later columns of tables."""
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    if document.parent.name == "coming-from":
        text = "\n".join(cells.partition("|")[2] for cells in re.findall(r"^\|((?:\\\||.)*)\|$", text, re.M))
    return re.findall(r"`([^`\n]+)`", text)


MADE = {*(ROOT / ".gitignore").read_text(encoding="utf-8").split(), *str(folder.__doc__).split()}
"""Folders that commands make, and what is in that of a model."""


@each_guide
def test_paths_exist(guide: Path) -> None:
    found = [code for code in code_of(guide) if re.fullmatch(r"(?![\d/]+$)[a-z_0-9]+/[\w./{},-]*", code)]
    found += [code for code in code_of(guide) if guide == ARCHITECTURE and re.fullmatch(r"\w+\.(py|toml)", code)]
    assert found or guide != ARCHITECTURE
    # In the page of the architecture a bare name is that of a file beside the one named before it.
    places = [ROOT, SOURCES, guide.parent, ROOT / "docs", *(SOURCES.glob("*/") if guide == ARCHITECTURE else [])]
    paths = [path for code in found for path in spelled_out(code)]
    assert [path for path in paths if not any((place / path).exists() for place in places) and path not in MADE] == []


def spelled_out(path: str) -> list[str]:
    """`page.{py,html}` stands for two files."""
    stem, _, rest = path.partition("{")
    return [stem + suffix for suffix in rest.rstrip("}").split(",")]


def test_the_architecture_page_names_registries_that_exist() -> None:
    page = ARCHITECTURE.read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    registries = re.findall(r"`([A-Z_]{3,})`", page)
    assert "SCORES" in registries
    assert [name for name in registries if not re.search(rf"^{name}\b.*=", sources, re.M)] == []


def test_the_architecture_page_names_every_room() -> None:
    page = ARCHITECTURE.read_text(encoding="utf-8")
    rooms = {path.stem for path in SOURCES.glob("[a-z]*") if path.suffix in ("", ".py")}
    assert "attention" in rooms
    assert {room for room in rooms if f"`{room}`" not in page} == set()


@cache
def known_settings() -> tuple[frozenset[str], frozenset[str]]:
    """All settings, and the tables that hold them."""
    names = frozenset(setting.name for setting in settings())
    return names, frozenset(name.rsplit(".", up)[0] for name in names for up in range(1, name.count(".") + 1))


@each_guide
def test_settings_exist(guide: Path) -> None:
    names, tables = known_settings()
    tops = "|".join({table.split(".")[0] for table in tables})
    setting = re.compile(rf"(?<![\w./-])(?:{tops})(?:\.\w+)+(?![\w(/])")
    codes = [re.sub(r'"[^"]*"', '""', code) for code in code_of(guide)]  # without names of files
    found = {name for code in codes for name in setting.findall(code)}
    files = {name for name in found if name.endswith((".json", ".txt", ".toml", ".safetensors"))}
    # In Python, `model` is a trained model, and `vectors` are word vectors.
    models = (regard.Translator, regard.Writer, regard.Tagger, regard.Classifier, regard.Parser)
    members = {f"model.{name}" for model in models for name in dir(model)}
    members |= {f"vectors.{name}" for name in (*dir(regard.Vectors), *regard.Vectors.__annotations__)}
    assert found - files - members - names - tables == set()
    shown = {match[1] for code in code_of(guide) if (match := re.match(r"\[([a-z_.0-9]+)\]", code))}
    assert shown - tables == set()


@cache
def options() -> dict[str, set[str]]:
    """The options of each command, and of each of a group."""
    found: dict[str, set[str]] = {}
    for name, command in commands().items():
        for each in map(made, command.of_task.values()):
            for part, one in {"": each, **getattr(each, "commands", {})}.items():
                of_one = {"-h", "--help"}.union(*(given.opts + given.secondary_opts for given in one.params))
                found.setdefault(f"{name} {part}".strip(), set()).update(of_one)
    return found


def commands_in(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Each call of `regard`, and its options."""
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    for call in re.findall(r"(?:^|`|[$|&] +)regard ([a-z][^`\n|#;]*)", text, re.M):
        first, *rest = call.split()
        name = f"{first} {rest[0]}" if rest and f"{first} {rest[0]}" in options() else first
        yield name, re.findall(r"(?<!\S)--?[a-z][a-z-]*", re.sub(r"\$\([^)]*\)", "", call))


@each_guide
def test_commands_and_their_options_exist(guide: Path) -> None:
    calls = list(commands_in(guide))
    assert calls or guide != ROOT / "README.md"
    assert [name for name, _ in calls if name not in options()] == []
    assert [(name, option) for name, given in calls for option in given if option not in options()[name]] == []
    if guide.parent.name != "benchmarks":  # whose programs have options of their own
        every = {"--debug", "--version"}.union(*options().values())
        alone = {match[0] for code in code_of(guide) if (match := re.match(r"--[a-z][a-z-]*", code))}
        assert alone - every == set()
