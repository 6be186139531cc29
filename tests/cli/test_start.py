"""`train.start`: parts of another model, also of another task, through the real command."""

import shutil
from pathlib import Path

import pytest
import torch
from command_line import RECIPE, Trained, regard, write_corpus

from regard.checkpoint import load_weights
from regard.errors import with_short_paths
from regard.recipe import read_recipe
from regard.tasks.tokenizer_files import tokenizer_file
from regard.tokens import load_tokenizer

FROZEN = ["--set", "train.steps=1", "--set", "train.optimizer.rate=1e-9"]
"""One step that changes next to nothing."""

LANGUAGE = """\
task = "language"

[data]
train = ["text.txt"]

[tokens]
kind = "words"

[model]
kind = "recurrent"
embedding = 16
hidden = 8

[train]
batch_tokens = 512
device = "cpu"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of few words, a recipe, and a text."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    Path("train.de").write_text("eins fremd\nzwei\n", encoding="utf-8")
    Path("train.en").write_text("one strange\ntwo\n", encoding="utf-8")
    Path("text.txt").write_text("eins zwei neun\nzwei eins\n" * 40, encoding="utf-8")
    Path("my.toml").write_text(RECIPE, encoding="utf-8")
    Path("language.toml").write_text(LANGUAGE, encoding="utf-8")
    return tmp_path


def start(model: object, *parts: str) -> list[str]:
    listed = ", ".join(f'"{part}"' for part in parts)
    return ["--set", f"train.start.model={model}", "--set", f"train.start.parts=[{listed}]"]


def same(one: Path, part: str, other: Path, other_part: str) -> bool:
    ours, theirs = load_weights(one), load_weights(other)
    mine = {name.removeprefix(part): weight for name, weight in ours.items() if name.startswith(f"{part}.")}
    return bool(mine) and all(
        torch.allclose(weight, theirs[other_part + name], atol=1e-6) for name, weight in mine.items()
    )


def test_an_encoder_comes_with_its_tokenizer_and_all_else_is_new(trained: Trained, here: Path) -> None:
    shutil.copytree(trained.folder, "first")
    given = ["train", "my.toml", "--out", "new", *start("first", "encoder"), "--set", "tokens.source.kind=bpe"]
    told = regard(*given, *FROZEN, "--set", "model.attention.score=dot")
    assert told.code == 0, told.err
    assert f"begins with encoder of {here / 'first'}; everything else is new" in told.err
    kept = f"tokens: those of {here / 'first'} are kept; of this recipe's [tokens], only dropout counts"
    assert kept in told.err.splitlines()
    assert same(here / "new", "encoder", trained.folder, "encoder")
    sources, targets = (
        [load_tokenizer(tokenizer_file(folder, side)).state() for folder in (Path("new"), trained.folder)]
        for side in ("source", "target")
    )
    assert sources[0] == sources[1]
    assert targets[0] != targets[1]
    recipe = read_recipe("new/recipe.toml")
    assert (recipe.tokens.source.kind, recipe.tokens.target.kind) == ("words", "words")  # type: ignore[union-attr]
    shutil.rmtree("first")
    told = regard(*given, "--set", "train.steps=2", *FROZEN[2:], "--set", "model.attention.score=dot", "--resume")
    assert told.code == 0, told.err
    assert "after step 1" in told.err


def test_parts_go_from_one_task_to_another_and_back(here: Path) -> None:
    assert regard("train", "language.toml", "--out", "language", *FROZEN).code == 0
    part = "encoder.input.embedding=input.embedding"
    told = regard("train", "my.toml", "--out", "translator", *start("language", part), *FROZEN)
    assert told.code == 0, told.err
    assert same(here / "translator", "encoder.input.embedding", here / "language", "input.embedding")
    back = "input.embedding=encoder.input.embedding"
    told = regard("train", "language.toml", "--out", "again", *start("translator", back), *FROZEN)
    assert told.code == 0, told.err
    assert same(here / "again", "input.embedding", here / "language", "input.embedding")
    found = [load_tokenizer(folder / "tokenizer.json").state() for folder in (Path("language"), Path("again"))]
    assert found[0] == found[1]


def test_an_average_begins_with_the_parts_too(trained: Trained, here: Path) -> None:
    given = start(trained.folder, "encoder")
    told = regard("train", "my.toml", "--out", "new", *given, *FROZEN, "--set", "train.average.decay=0.5")
    assert told.code == 0, told.err
    assert same(here / "new", "encoder", trained.folder, "encoder")


REFUSED = {
    "another shape": (
        ["encoder"],
        ["model.hidden=24"],
        "train.start: MODEL: 'encoder.stack.layers.0.ahead.input_weight' has shape (48, 16), but the model needs "
        "(72, 16); the recipe or a vocabulary differs from the one these weights were trained with; settings that "
        "differ: hidden = 24, there 16",
    ),
    "more layers": (
        ["encoder"],
        ["model.encoder_layers=2"],
        "train.start: MODEL: 'encoder.stack.layers.1.ahead.input_weight' is missing, so these weights belong to "
        "another kind of model; settings that differ: layers = 2, there 1",
    ),
    "fewer directions": (
        ["encoder"],
        ["model.bidirectional=false"],
        "'; settings that differ: bidirectional = False, there True",  # which weight comes first is not said
    ),
    "no part of this model": (
        ["encoders"],
        [],
        "train.start: this model has no part 'encoders'; its parts are 'encoder', 'decoder' or 'readout', and their "
        "submodules",
    ),
    "no part of the other": (
        ["encoder=stack"],
        [],
        "train.start: MODEL: the model has no part 'stack'; its parts are ",
    ),
    "no part": (["="], [], '[train.start] parts: \'=\' names no part; write "encoder", or "encoder.layers=layers"'),
    "no parts": ([], [], "[train.start] model needs parts too: which parts of which model to begin with"),
    "all and a part": (
        ["encoder"],
        ["train.start_from=nowhere"],
        "[train] start_from takes all of a model, start.parts some of one; leave one of them out",
    ),
    "different tokens as one": (
        ["encoder", "decoder"],
        ["tokens.shared=true"],
        "train.start: tokens.shared = true, but the parts of MODEL have different tokenizers; set "
        "tokens.shared = false",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_the_setting(trained: Trained, here: Path, case: str) -> None:
    parts, changes, line = REFUSED[case]
    given = [each for change in changes for each in ("--set", change)]
    told = regard("train", "my.toml", "--out", "new", *start(trained.folder, *parts), *FROZEN, *given)
    assert told.code == 2
    assert with_short_paths(line.replace("MODEL", str(trained.folder))) in told.err


def test_a_folder_without_a_model_is_refused(here: Path) -> None:
    told = regard("train", "my.toml", "--out", "new", *start("nowhere", "encoder"), *FROZEN)
    assert (told.code, told.err.startswith("regard: train.start: nowhere: no such folder")) == (2, True)
