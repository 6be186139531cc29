"""Wrong data is seen by the commands: before training, and where files are given to a trained model."""

from pathlib import Path

import pytest
from command_line import Trained, regard, write_corpus

SWAPPED = "source and target seem to be swapped for this model"


@pytest.mark.parametrize("command", ["evaluate", "score", "align"])
def test_files_swapped_against_a_trained_model(trained: Trained, tmp_path: Path, command: str) -> None:
    write_corpus(tmp_path, {"new": 20})
    source, target = tmp_path / "new.de", tmp_path / "new.en"
    told = regard(command, trained.folder, source, target)
    assert told.code == 0
    assert SWAPPED not in told.err
    told = regard(command, trained.folder, target, source)
    assert told.code == 0
    first = target.read_text(encoding="utf-8").split("\n")[0]
    assert told.err.startswith(f'{SWAPPED} ("{first}" is the first source): give the files in the other order\n')


def test_a_table_with_commas_is_not_taken_for_text(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a,b\n", encoding="utf-8")
    told = regard("check", path)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {path}: comma-separated values are not read, because commas stand in text too; save the file with "
        "tabs between the columns and a name that ends in .tsv\n"
    )


def test_paths_are_shown_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path, {"train": 5})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert regard("check", "train.de", "train.en").out.startswith("train: 5 pairs in train.de and train.en, ")
    told = regard("check", "train.de", "no.en")
    assert "0 pairs" not in told.out
    assert told.err.startswith("regard: train: no.en: no such file")
    monkeypatch.chdir(tmp_path / "here")
    assert regard("check", "../train.de", "../train.en").out.startswith("train: 5 pairs in ../train.de and ../train.en")


def test_unknown_words_of_a_text_are_named_by_check(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("the <unk> sees <unk>\n" * 3, encoding="utf-8")
    told = regard("check", path)
    assert told.code == 0
    assert (
        "train: <unk> stands 6 times in the text, as a word like others; if it means an unknown word, "
        'set tokens.unknown = "<unk>"'
    ) in told.out
    assert "<unk> stands" not in regard("check", path, "--set", "tokens.unknown=<unk>").out
