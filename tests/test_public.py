"""The public surface: what it is, that every name of it is documented, and that its examples run."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import surface
from command_line import Trained
from page_blocks import blocks_of

import regard

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guides/python.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
PAGES.remove(ROOT / "docs/architecture.md")  # for people who change the code
MODULES = {f"regard.{package}" for package in (*surface.PACKAGES, "recipe")}

PUBLIC = """
    AlignedPair Classified Classifier DataError Decoding EncodingError Filled Inspection LanguageDecoding MarkedTexts
    ModelError ModelWarning Neighbor Parse Parser PictureWarning PretrainedEncoder Recipe RecipeError RegardError
    RegardWarning Scored ScoredText Tagged Tagger TrainingError Translation Translator UsageError Vectors WordAligner
    Writer __version__ attend attention built_in_recipes intervene learn_vectors load parse_recipe read_recipe record
    run taps write_recipe
"""


def names() -> Iterator[tuple[str, Any]]:
    """Every public name that has a docstring."""
    for name, thing in surface.things().items():
        yield name, thing
        for member, value in surface.members(name, thing):
            yield f"{name}.{member}", value


def test_the_surface_is_what_it_was() -> None:
    assert sorted(regard.__all__) == dir(regard) == sorted(PUBLIC.split())
    for package, public in {**surface.PACKAGES, "recipe": surface.REGISTRIES}.items():
        assert set(public.split()) <= set(import_module(f"regard.{package}").__all__)
    assert {f"regard.{name}" for name in surface.WITH_MEMBERS.split()} <= surface.things().keys()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", regard.__version__)
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'lode'"):
        _ = regard.lode


def test_every_public_name_is_documented() -> None:
    assert [name for name, thing in names() if not surface.documented(thing)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_imports_is_public(page: Path) -> None:
    trees = [ast.parse(block.code) for block in blocks_of(page) if block.language == "python"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    found |= {f"{node.module}.{each.name}" for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    found |= {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found |= set(re.findall(r"`(regard(?:\.\w+)+)", text))
    ours = {name for name in found if re.fullmatch(r"regard(\.\w+)*", name)}
    assert {name for name in ours if not _is_public(name)} == set()


def _is_public(name: str) -> bool:
    """A name, or a member of one: `regard.Vectors.load`."""
    known = surface.importable()
    return name in known or (name.rpartition(".")[0] in known - {"regard", *MODULES})


def test_importing_takes_no_torch() -> None:
    code = "import sys, regard; dir(regard); print(sorted({'torch', 'pydantic', 'numpy'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


@pytest.mark.parametrize("package", ["regard.data", "regard.tasks"])
def test_names_that_are_found_on_use_are_there(package: str) -> None:
    room = import_module(package)
    assert [name for name in room.__all__ if not hasattr(room, name)] == []


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def test_the_examples_run(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and in one place, where the tiny model and its text are what the page calls them."""
    monkeypatch.chdir(tmp_path)
    text = trained.recipe.read_text(encoding="utf-8").replace('"train.', f'"{trained.recipe.parent}/train.')
    text = text.replace('"dev.', f'"{trained.recipe.parent}/dev.').replace('"test.', f'"{trained.recipe.parent}/test.')
    Path("my.toml").write_text(text, encoding="utf-8")
    for side in ("de", "en"):
        Path(f"train.{side}").write_text((trained.recipe.parent / f"train.{side}").read_text("utf-8"), "utf-8")
    Path("runs").mkdir()
    Path("runs/mine").symlink_to(trained.folder)
    words = {"Das ist ein Haus .": "eins und Haus", "This is a house .": "one and house"}
    space: dict[str, Any] = {}
    for block in blocks(PAGE):
        for shown, known in words.items():
            block = block.replace(shown, known)
        block = re.sub(r"decoder\.(layers\.0|\*)\.cross\.weights", "decoder.attention.weights", block)
        exec(compile(block.replace("train.steps=1000", "train.steps=2"), str(PAGE), "exec"), space)
    assert blocks(PAGE)
