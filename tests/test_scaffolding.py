"""Documents name files, headings and figures that exist, the lock pins what the project asks for, code stays small."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]


DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]
DOCUMENTS += sorted(ROOT.glob("docs/**/*.md"))
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s]+)\)")


def links(document: Path) -> list[tuple[str, Path, str]]:
    """The text, file and anchor of each relative link in a document."""
    text = CODE.sub("", document.read_text(encoding="utf-8"))
    parts = [(label, *target.partition("#")[::2]) for label, target in LINK.findall(text) if "://" not in target]
    return [(label, document.parent / path if path else document, anchor) for label, path, anchor in parts]


def sections(document: Path) -> dict[str, str]:
    """The text below each heading, by the anchor GitHub gives it: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
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


def pins() -> dict[str, Version]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    assert all(str(pin.specifier).startswith("==") for pin in found)
    return {_normal(pin.name): Version(str(pin.specifier)[2:]) for pin in found}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_architecture_page_names_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## Which file to open for which wish")[1]
    named = re.findall(r"`([a-z_/]+\.(?:py|\{[a-z,]+\}))`", table)
    # `page.{py,html}` stands for several files, and a bare name for a file beside the one named before it.
    files = [f"{stem}{suffix}" for name in named for stem, suffix in _spelled_out(name)]
    assert len(files) > 30
    sources = ROOT / "src" / "regard"
    assert [name for name in files if not (sources / name).exists() and not list(sources.glob(f"*/{name}"))] == []


def _spelled_out(name: str) -> list[tuple[str, str]]:
    stem, _, rest = name.partition("{")
    return [(stem, suffix) for suffix in rest.rstrip("}").split(",")]


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (ROOT / "src" / "regard").glob("[a-z]*") if path.suffix in ("", ".py")}
    assert "attention" in rooms
    assert {room for room in rooms if f"`{room}`" not in page} == set()


@pytest.mark.parametrize("wanted", WANTED)
def test_the_lock_pins_what_the_project_asks_for(wanted: str) -> None:
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(pins()[_normal(requirement.name)])


def test_the_lock_is_of_no_one_machine() -> None:
    assert str(pins()["torch"]) == "2.13.0"
    assert [name for name, version in pins().items() if version.local or name.startswith(("nvidia", "cuda"))] == []


MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_PARAMETERS = 600, 90, 10
SOURCES = sorted((ROOT / "src" / "regard").rglob("*.py"))


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_compiled(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """By numba or Triton, which take arrays and sizes apart."""
    return any(re.search(r"\b(njit|jit|vectorize)\b", ast.unparse(each)) for each in function.decorator_list)


def test_files_fit_into_the_budget() -> None:
    assert len(SOURCES) > 200
    sizes = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_functions_fit_into_the_budget() -> None:
    """Commands have a parameter for each option."""
    long, many = [], []
    for path in SOURCES:
        is_command = path.is_relative_to(ROOT / "src" / "regard" / "cli")
        for function in _functions(path):
            name = f"{path.relative_to(ROOT)}: {function.name}"
            if (function.end_lineno or 0) - function.lineno + 1 > MOST_LINES_OF_A_FUNCTION:
                long.append(name)
            given = function.args
            parameters = [each for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg != "self"]
            if len(parameters) > MOST_PARAMETERS and not is_command and not _is_compiled(function):
                many.append(name)
    assert long == []
    assert many == []
