"""Classifying through the real commands: train, check, classify, evaluate, look."""

import json
from pathlib import Path

import pytest
from command_line import Trained, regard

from regard.inspect import Inspection
from regard.recipe import RecurrentEncoding


def test_training_says_what_it_found(trained_classifier: Trained) -> None:
    assert "train: 150 texts in " in trained_classifier.err
    assert "2 different labels" in trained_classifier.err
    assert "15 words in the vocabulary, labels " in trained_classifier.err
    assert "accuracy 100" in trained_classifier.err


def test_lines_are_labelled_line_for_line(trained_classifier: Trained, tmp_path: Path) -> None:
    text = "the film is lovely\n\n \t\ndull  plot\n\n"
    told = regard("classify", trained_classifier.folder, stdin=text.encode())
    assert told.code == 0, told.err
    assert told.out == "good\n\n\nbad\n\n"
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    assert regard("classify", trained_classifier.folder, file).out == told.out
    told = regard("classify", trained_classifier.folder, "--probabilities", stdin=b"\nlovely\n")
    empty, line = told.out.splitlines()
    first, second = (each.split() for each in line.split("\t"))
    assert empty == ""
    assert (first[0], second[0]) == ("good", "bad")
    assert float(first[1]) + float(second[1]) == pytest.approx(1, abs=2e-4)
    assert regard("classify", trained_classifier.folder).out == ""


def test_labels_beside_texts_are_noticed_once(trained_classifier: Trained) -> None:
    told = regard("classify", trained_classifier.folder, stdin=b"lovely\t\ngood\tthe film\nbad\tthe plot\n")
    assert (told.code, len(told.out.splitlines())) == (0, 3)
    assert told.err == (
        "standard input, line 2: has tabs, and all of the line is read as words; give texts without their labels, for "
        "example by `cut -f 2`\n"
    )


def test_a_text_that_is_too_long_is_named_after_those_before_it_were_labelled(
    trained_classifier: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the encoder had a table of positions; training a Transformer takes longer.
    monkeypatch.setattr(RecurrentEncoding, "learned_positions", 20)
    told = regard("classify", trained_classifier.folder, stdin=b"fine\n" + b"the " * 21)
    assert told.code == 2
    assert len(told.out.splitlines()) == 1
    assert told.err == (
        "regard: standard input, line 2: a sentence of 21 words, but this model has learned 20 positions "
        "(model.encoder.longest); split it\n"
    )


def test_evaluating_prints_scores_with_signatures(trained_classifier: Trained, tmp_path: Path) -> None:
    told = regard("evaluate", trained_classifier.folder, "--split", "dev", "--json", tmp_path / "scores.json")
    assert told.code == 0, told.err
    assert told.out.startswith("accuracy 100 ± 0 (texts:30|labels:2|bootstrap:1000)")
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["scores"]
    assert [score["name"] for score in scores] == ["accuracy", "macro F1", "micro F1"]


def test_looking_shows_labels_and_weights(trained_classifier: Trained, tmp_path: Path) -> None:
    told = regard("look", trained_classifier.folder, "the film is lovely")
    assert told.code == 0, told.err
    assert "good" in told.out
    assert "lovely" in told.out.splitlines()[-1]
    out = tmp_path / "look.json"
    assert regard("look", trained_classifier.folder, "lovely", "-o", out).code == 0
    assert Inspection.from_json(out.read_text(encoding="utf-8"))["pooling.weights"].values.tolist() == [1.0]
    assert regard("look", trained_classifier.folder, "a lovely film", "-o", tmp_path / "look.html").code == 0


def test_files_are_checked_with_and_without_a_recipe(trained_classifier: Trained, tmp_path: Path) -> None:
    told = regard("check", trained_classifier.recipe)
    assert told.code == 0
    assert "test: 30 texts in " in told.out
    file = tmp_path / "train.ft"
    file.write_text("__label__a fine\n__label__a\nno label\n", encoding="utf-8")
    told = regard("check", file)
    assert told.code == 2
    assert "train: 1 text without exactly one label: refused; " in told.err
    assert "train: 1 text without a word: kept" in told.out + told.err


@pytest.mark.long
def test_the_built_in_recipe_reaches_what_it_promises(tmp_path: Path) -> None:
    """About a minute on one core."""
    assert regard("train", "dates-language", "--out", tmp_path / "model").code == 0
    first = regard("evaluate", tmp_path / "model").out.splitlines()[0]
    assert float(first.split()[1]) >= 98
