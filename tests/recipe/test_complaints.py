"""What is said of recipes: who is to blame, what is near, what is too much."""

import os
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained, regard

from regard.errors import RecipeError
from regard.recipe import Decoding, parse_recipe, read_recipe

TABLES: dict[str, Any] = {
    "data": {"train": ["a.de", "a.en"], "dev": ["b.de", "b.en"]},
    "tokens": {"source": {"kind": "words"}, "target": {"kind": "words"}},
    "model": {"kind": "recurrent", "vectors": {"source": "vectors.txt"}},
    "train": {"steps": 1},
}


def test_relative_paths_start_from_the_current_folder_or_a_given_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = parse_recipe(TABLES)
    assert recipe.data.model_dump()["train"] == [str(tmp_path / "a.de"), str(tmp_path / "a.en")]
    elsewhere = parse_recipe(TABLES, folder="/text")
    assert elsewhere.data.model_dump()["dev"] == [os.path.abspath("/text/b.de"), os.path.abspath("/text/b.en")]
    assert elsewhere.model_dump()["model"]["vectors"]["source"] == os.path.abspath("/text/vectors.txt")
    assert TABLES["data"]["train"] == ["a.de", "a.en"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["train.seed=2"], "--set 'train.seed=2': unknown setting 'train.seed'; nearest known: 'seed'"),
        (
            ["train.validation.metric=blue"],
            "--set 'train.validation.metric=blue': train.validation.metric = 'blue' is not allowed; allowed are 'bleu'",
        ),
        (
            ["decode.n_best=9"],
            "--set 'decode.n_best=9': [decode] greedy decoding gives one output, not n_best = 9",
        ),
        (["decode.beam=100000000000000000000"], "decode.beam = 100000000000000000000: must be less than or equal to"),
        (
            ["decode.longest_extra=1000000000"],
            "decode.longest_extra = 1000000000: must be less than or equal to 10000",
        ),
        (["model.hidden=1000000000"], "model.hidden = 1000000000: must be less than or equal to 1048576"),
        (["model.decoder_layers=100000000"], "model.decoder_layers = 100000000: must be less than or equal to 1000"),
        (
            ["decode.least=50"],
            "--set 'decode.least=50': [decode] least = 50 tokens are more than the 22 that longest_factor and "
            "longest_extra allow for a source of one token; lower least, or raise longest_extra to 50 or more",
        ),
        (["train.steps=" + "[" * 100_000], "train.steps = '[[["),
    ],
)
def test_what_is_said_of_changes(changes: list[str], says: str) -> None:
    with pytest.raises(RecipeError) as refusal:
        read_recipe("dates", changes)
    assert says in str(refusal.value)


def test_a_setting_in_another_table_is_named() -> None:
    with pytest.raises(RecipeError, match=r"unknown setting 'train\.seed'; known here, .*; there is 'seed'"):
        parse_recipe({**TABLES, "train": {"steps": 1, "seed": 2}})


def test_a_setting_of_another_kind_says_of_which() -> None:
    with pytest.raises(RecipeError, match=r"'model\.width'.*; it is for model\.kind = 'transformer', not 'recurrent'$"):
        read_recipe("multi30k-recurrent", ["model.width=64"])


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a" + ".a" * 100_000 + " = 1", "[" * 100_000])
def test_recipes_that_are_nested_without_end_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=r"my\.toml: not valid TOML: "):
        read_recipe(tmp_path / "my.toml")


@pytest.mark.long
@pytest.mark.parametrize("file", ["tokenizer.source.json", "format.json", "recipe.toml"])
def test_model_folders_that_are_nested_without_end_are_refused(file: str, trained: Trained, tmp_path: Path) -> None:
    for path in trained.folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / file).unlink()
    (tmp_path / file).write_text(("a = " if file.endswith("toml") else "") + "[" * 100_000, encoding="utf-8")
    told = regard("translate", tmp_path, stdin=b"rot\n")
    assert (told.code, told.out) == (2, "")
    assert file in told.err


@pytest.mark.parametrize("least", [0, 5, 22])
def test_the_length_limit_is_kept(least: int) -> None:
    assert Decoding(least=least).longest_output(3) == 26
