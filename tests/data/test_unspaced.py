"""Text without blanks is not split into words at blanks without a warning."""

from pathlib import Path

import pytest
from command_line import regard

from regard.data.unspaced import find_unspaced

JAPANESE = ["東京に行きます。", "私は学生です。", "ファイルを開く"]
PAIRS = """
[data]
train = ["train.ja", "train.en"]

[tokens.{side}]
kind = "{kind}"

[model]
kind = "recurrent"

[train]
steps = 1
"""
LANGUAGE = """
task = "language"

[data]
train = ["train.ja"]

[model]
kind = "recurrent"

[train]
steps = 1
"""


def test_only_words_of_text_without_blanks_are_doubtful() -> None:
    (found,) = find_unspaced(JAPANESE, "words", "tokens.kind")
    assert found.line() == (
        'train: the text is Japanese without blanks, but tokens.kind = "words" splits at blanks, so that whole '
        'sentences are words; set it to "bpe", "unigram" or "characters", or put blanks between the words: kept'
    )
    assert not find_unspaced(JAPANESE, "bpe", "tokens.kind")
    assert not find_unspaced(["東京 に 行き ます 。", "私 は 学生 です 。"], "words", "tokens.kind")
    assert not find_unspaced(["the house", *["a b"] * 9, "東京に行きます。"], "words", "tokens.kind")
    assert not find_unspaced([], "words", "tokens.kind")


@pytest.mark.parametrize(
    ("recipe", "setting"),
    [
        (PAIRS.format(side="source", kind="words"), "tokens.source.kind"),
        (PAIRS.format(side="target", kind="words"), ""),
        (PAIRS.format(side="source", kind="characters"), ""),
        (LANGUAGE, "tokens.kind"),
    ],
)
def test_it_is_said_before_a_run(tmp_path: Path, recipe: str, setting: str) -> None:
    (tmp_path / "train.ja").write_text("".join(f"{line}\n" for line in JAPANESE), encoding="utf-8")
    (tmp_path / "train.en").write_text("I go to Tokyo.\nI am a student.\nopen the file\n", encoding="utf-8")
    (tmp_path / "my.toml").write_text(recipe, encoding="utf-8")
    told = regard("check", tmp_path / "my.toml")
    assert told.code == 0, told.err
    assert (f'{setting} = "words" splits at blanks' in told.out + told.err) == bool(setting), told.out


def test_vectors_of_words_need_words(tmp_path: Path) -> None:
    lines = [line for line in JAPANESE for _ in range(5)]
    (tmp_path / "text.ja").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "my.toml").write_text('task = "vectors"\n[data]\ntrain = ["text.ja"]\n[vectors]\nkind = "skipgram"\n')
    said = (
        "train: the text is Japanese without blanks, so that whole phrases are taken for words; put blanks between the "
        "words first, by a segmenter: kept\n"
    )
    assert said in regard("check", tmp_path / "my.toml").out
    small = ["--set", "vectors.dimension=4", "--set", "vectors.epochs=1"]
    told = regard("vectors", "train", tmp_path / "my.toml", "--out", tmp_path / "run", *small)
    assert told.code == 0, told.err
    assert said in told.err
    (tmp_path / "text.ja").write_text("東京 に 行き ます 。\n私 は 学生 です 。\n" * 5, encoding="utf-8")
    assert "without blanks" not in regard("check", tmp_path / "my.toml").out
