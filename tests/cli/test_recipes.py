"""`regard recipes` and `regard check`."""

import re
import tomllib
from pathlib import Path

import pytest
from command_line import Trained, regard

from regard.recipe import AnyRecipe, built_in_recipes, read_recipe, settings


def test_the_list_tells_what_to_do_next() -> None:
    told = regard("recipes")
    assert told.code == 0
    assert re.search("^dates +Reads dates in many languages into ISO 8601", told.out, re.M)
    assert "regard train NAME (of word vectors: regard vectors train NAME)" in told.out


@pytest.mark.parametrize("name", built_in_recipes())
def test_a_printed_recipe_is_the_recipe(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("copy.toml").write_text(regard("recipes", name).out, encoding="utf-8")
    assert read_recipe("copy.toml", kind=AnyRecipe) == read_recipe(name, kind=AnyRecipe)


def test_a_printed_recipe_can_be_given_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = regard("recipes", "multi30k-transformer").out
    assert 'train = ["train.en", "train.de"]\n' in printed
    assert str(tmp_path) not in printed
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    copy = theirs / "copy.toml"
    copy.write_text(printed, encoding="utf-8")
    assert read_recipe(copy).data.train == [str(theirs / "train.en"), str(theirs / "train.de")]
    copy.write_text(printed + "\n[train.begin]\n", encoding="utf-8")
    told = regard("recipes", copy)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("regard: theirs/copy.toml: unknown setting 'train.begin'; ")


def test_every_setting_is_listed_with_its_default_and_a_sentence() -> None:
    lines = regard("recipes", "--settings").out.splitlines()
    named, sentences = lines[::2], lines[1::2]
    assert [line.split()[0] for line in named] == [setting.name for setting in settings()]
    assert "train.clip = 1.0" in named
    assert "model.width = 256  [translation or language, transformer only]" in named
    assert "model.kind (must be given)  [translation or language, recurrent only]" in named
    assert "train.validation.target (not set)" in named
    assert [line for line in sentences if not re.fullmatch(r"    .+[.…] \([a-z0-9].*\)", line)] == []


def test_a_default_is_toml() -> None:
    given = (line for line in regard("recipes", "--settings").out.splitlines() if " = " in line and line[0] != " ")
    values = [tomllib.loads(line.split("  [")[0]) for line in given]
    assert len(values) > 50


def test_check_says_what_is_in_a_corpus(trained: Trained) -> None:
    told = regard("check", trained.recipe)
    assert told.code == 0
    assert told.err == ""
    first, *_ = told.out.splitlines()
    assert first.startswith("train: 300 pairs in ")
    assert "pairs that occurred before: kept (data.duplicates); first " in told.out


def test_check_of_files_against_a_test_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("eins\tone\nzwei\ttwo\n", encoding="utf-8")
    Path("test.tsv").write_text("zwei\ttwo\n", encoding="utf-8")
    told = regard("check", "a.tsv", "--test", "test.tsv")
    assert told.code == 0
    assert "train: 1 pair whose source is in the test text too: kept (data.overlap)" in told.out
    refused = regard("check", "a.tsv", "--test", "test.tsv", "--set", "data.overlap=refuse")
    assert refused.code == 2
    assert "train: 2 pairs in" in refused.out
    assert "regard: train: 1 pair whose source is in the test text too: refused (data.overlap)" in refused.err


def test_check_reads_one_file_for_the_task_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trees.txt").write_text("(3 (2 It) (4 lovely))\n(3 (2 It (4\n", encoding="utf-8")
    told = regard("check", "trees.txt")
    assert told.out.startswith("train: 2 lines in trees.txt, ")
    assert told.err == (
        "trees.txt was checked for task 'language'; for another, add --set task=NAME with 'translation', 'vectors', "
        "'tagging', 'classifying', 'parsing', 'pretraining' or 'alignment'\n"
    )
    told = regard("check", "trees.txt", "--set", "task=classifying", "--set", "data.format=trees")
    assert told.code == 2
    assert told.err.startswith(
        "regard: train: 1 tree whose brackets are broken: refused; trees.txt:2 (the bracket at character 10 is not "
        "closed)"
    )
    told = regard("check", "trees.txt", "--set", "task=clasifying")
    assert told.err.startswith("regard: --set task=clasifying: this task is not known; known are 'classifying', ")


def test_check_of_a_built_in_recipe() -> None:
    told = regard("check", "dates", "--set", "data.examples=20")
    assert told.code == 0
    assert told.out.startswith("train: 20 pairs, ")
