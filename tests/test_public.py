"""The public surface: it is what docs/guides/python.md says, every name of it is documented, and its examples run.

`python tests/test_public.py` rewrites the reference of that page.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained

import regard

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guides/python.md"
BEGIN, END = "<!-- reference: tests/test_public.py -->", "<!-- end of the reference -->"

PUBLIC = """
    AlignedPair Classified Classifier DataError Decoding EncodingError Filled Inspection LanguageDecoding ModelError
    ModelWarning Neighbor Parse Parser PictureWarning PretrainedEncoder Recipe RecipeError RegardError RegardWarning
    Scored ScoredText Tagged Tagger TrainingError Translation Translator UsageError Vectors WordAligner Writer
    __version__ attend attention built_in_recipes intervene learn_vectors load parse_recipe read_recipe record run
    taps write_recipe
"""
ATTENTION = """
    Additive Alibi Attention Concatenation Cosine Dot Gaussian Heads InverseDistance Learned Multiplicative Relative
    Rotary ScaledDot Score Sinusoidal TreeDistance attend causal combine entmax15 padding proportional softmax sparsemax
    tree_depths tree_distances window
"""
"""What is public of `regard.attention`; the rest of it serves the models."""
INHERITED = {
    *(
        "Vectors",
        "Translator",
        "Writer",
        "Tagger",
        "Tagged",
        "Classifier",
        "Classified",
        "Parser",
        "Parse",
        "PretrainedEncoder",
        "Filled",
        "WordAligner",
    ),
    *("Translation", "Scored", "ScoredText", "Inspection", "PretrainedEncoder", "Filled"),
}
"""Classes whose members are public too; tables of a recipe have settings, which `regard recipes --settings` lists."""


INTERNAL = {"why_eager", "segment", "tokens_of", "refuse_long", "looking_at", "joining", "watched"}
"""Members that commands use, and people need not."""


def members(thing: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, its own last: they replace those of the classes it is made of."""
    own = [each for each in thing.__mro__ if each.__module__.startswith("regard.")]
    for name, member in {name: member for each in reversed(own) for name, member in vars(each).items()}.items():
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if (
            not name.startswith("_")
            and name not in INTERNAL
            and (callable(member) or isinstance(member, property) or hasattr(member, "func"))
        ):
            yield name, member


def names() -> Iterator[tuple[str, Any]]:
    """Every public name that has a docstring."""
    for name in sorted(PUBLIC.split(), key=str.lower):
        thing = getattr(regard, name)
        if name in ("__version__", "attention"):
            continue
        yield f"regard.{name}", thing
        for member, value in members(thing) if name in INHERITED else []:
            yield f"regard.{name}.{member}", value
    for name in sorted(ATTENTION.split(), key=str.lower):
        yield f"regard.attention.{name}", getattr(regard.attention, name)


def sentence(thing: Any) -> str:
    """The first sentence of a docstring."""
    documented = thing.func if hasattr(thing, "func") and not inspect.isfunction(thing) else thing
    text = " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())
    found = re.match(r".*?(?<! al)\.(?= |$)", text)
    return (found[0] if found else text).rstrip(".")


def called(name: str, thing: Any) -> str:
    """How it is called."""
    if not inspect.isfunction(thing):
        return name
    parameters = [each for each in inspect.signature(thing).parameters.values() if each.name not in ("self", "cls")]
    return f"{name}({', '.join(str(each).split(':')[0].split('=')[0].strip() for each in parameters)})"


def reference() -> str:
    rows = [f"| `{called(name, thing)}` | {sentence(thing).replace('|', chr(92) + '|')} |" for name, thing in names()]
    return "\n".join([BEGIN, "", "| name | what it is |", "|---|---|", *rows, "", END])


def test_the_surface_is_what_it_was() -> None:
    assert sorted(regard.__all__) == dir(regard) == sorted(PUBLIC.split())
    assert set(ATTENTION.split()) <= set(regard.attention.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", regard.__version__)
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'lode'"):
        _ = regard.lode


def test_every_public_name_is_documented() -> None:
    assert [name for name, thing in names() if not sentence(thing)] == []


def test_the_page_has_the_reference() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert reference() in page, "python tests/test_public.py rewrites it"


def test_importing_takes_no_torch() -> None:
    code = "import sys, regard; dir(regard); print(sorted({'torch', 'pydantic', 'numpy'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", [PAGE, ROOT / "README.md"])
def test_the_examples_run(page: Path, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    for block in blocks(page):
        for shown, known in words.items():
            block = block.replace(shown, known)
        block = re.sub(r"decoder\.(layers\.0|\*)\.cross\.weights", "decoder.attention.weights", block)
        exec(compile(block.replace("train.steps=1000", "train.steps=2"), str(page), "exec"), space)
    assert blocks(page)


if __name__ == "__main__":
    whole = PAGE.read_text(encoding="utf-8")
    before, after = whole.split(BEGIN)[0], whole.split(END)[1]
    PAGE.write_text(before + reference() + after, encoding="utf-8")
