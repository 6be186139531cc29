"""Tagging through the real commands: train, check, tag, evaluate, look."""

import json
from pathlib import Path

import pytest
from command_line import Trained, regard
from tagging_runs import tagging_recipe, write_columns

from regard.inspect import Inspection
from regard.recipe import write_recipe


def test_training_says_what_it_found(trained_tagger: Trained) -> None:
    assert "train: 150 sentences in " in trained_tagger.err
    assert "tags mark spans in the scheme iob2 (detected); 5 different tags" in trained_tagger.err
    assert "14 words in the vocabulary, tags O, " in trained_tagger.err
    assert "f1 100" in trained_tagger.err


def test_lines_are_tagged_line_for_line(trained_tagger: Trained, tmp_path: Path) -> None:
    text = "the Anna Emil .\n\nRome  Oslo\t.\n"
    told = regard("tag", trained_tagger.folder, stdin=text.encode())
    assert (told.code, told.out) == (0, "O B-PER I-PER O\n\nB-LOC I-LOC O\n")
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    assert regard("tag", trained_tagger.folder, file).out == told.out
    tags, shares = regard("tag", trained_tagger.folder, "--probabilities", stdin=b"Anna .\n").out.strip().split("\t")
    assert tags == "B-PER O"
    assert [0.5 < float(share) <= 1 for share in shares.split()] == [True, True]


def test_columns_get_one_more_and_other_lines_stay(trained_tagger: Trained) -> None:
    text = "-DOCSTART- x O\n\nAnna x B-PER\nEmil\ty\tI-PER\n\n\nRome x O"
    told = regard("tag", trained_tagger.folder, "--columns", stdin=text.encode())
    assert told.code == 0, told.err
    assert told.out == "-DOCSTART- x O\n\nAnna x B-PER B-PER\nEmil\ty\tI-PER\tI-PER\n\n\nRome x O B-LOC\n"
    told = regard("tag", trained_tagger.folder, "--columns", "--probabilities", stdin=b"Rome")
    word, share = told.out.split("\t")
    assert word == "Rome B-LOC"
    assert 0.5 < float(share) <= 1


def test_columns_that_are_read_as_words_are_noticed(trained_tagger: Trained) -> None:
    told = regard("tag", trained_tagger.folder, stdin=b"Rome\tB-LOC\n")
    assert len(told.out.split()) == 2
    assert told.err == (
        "standard input, line 1: has tabs, and all of the line is read as words; of a file with columns, "
        "--columns reads the words alone\n"
    )
    assert regard("tag", trained_tagger.folder, "--columns", stdin=b"Rome\tB-LOC\n").err == ""


def test_nothing_in_is_nothing_out(trained_tagger: Trained) -> None:
    assert regard("tag", trained_tagger.folder).out == ""
    assert regard("tag", trained_tagger.folder, "--columns").out == ""


def test_of_conllu_the_tag_stands_in_its_own_column(tmp_path: Path) -> None:
    rows = "# text = go\n1\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    (tmp_path / "train.conllu").write_text(rows, encoding="utf-8")
    (tmp_path / "my.toml").write_text(
        'task = "tagging"\n[data]\ntrain = ["train.conllu"]\nword_column = "FORM"\ntag_column = "UPOS"\n'
        '[model]\noutput = "softmax"\n[model.encoder]\nkind = "averaging"\nembedding = 4\n'
        '[words]\nwidth = 4\n[train]\nsteps = 1\ndevice = "cpu"\n',
        encoding="utf-8",
    )
    told = regard("train", tmp_path / "my.toml", "--out", tmp_path / "model")
    assert told.code == 0, told.err
    assert "tags are of single words; 1 different tag" in told.err
    blank = rows.replace("VERB", "_")
    assert regard("tag", tmp_path / "model", "--columns", stdin=blank.encode()).out == rows
    told = regard("tag", tmp_path / "model", "--columns", stdin=f"{blank}\n1\n\n{blank}".encode())
    assert (told.code, told.out) == (2, rows)
    assert told.err == (
        "regard: standard input, line 5: there is no word in column 'FORM' (data.word_column) of 1 column; give the "
        "columns that the training text has\n"
    )
    told = regard("evaluate", tmp_path / "model")
    assert told.code == 2
    assert "the model's recipe names no test text (data.test)" in told.err


def test_a_sentence_that_is_too_long_is_named_after_those_before_it_were_tagged(tmp_path: Path) -> None:
    encoder = {"kind": "transformer", "width": 4, "heads": 1, "feedforward": 4, "layers": 1, "position": "learned"}
    recipe = tagging_recipe(tmp_path, model={"encoder": encoder | {"longest": 20}}, train={"steps": 1})
    (tmp_path / "my.toml").write_text(write_recipe(recipe), encoding="utf-8")
    assert regard("train", tmp_path / "my.toml", "--out", tmp_path / "model").code == 0
    told = regard("tag", tmp_path / "model", stdin=b"Anna .\n" + b"the " * 21)
    assert told.code == 2
    assert len(told.out.splitlines()) == 1
    assert told.err == (
        "regard: standard input, line 2: a sentence of 21 words, but this model has learned 20 positions "
        "(model.encoder.longest); split it\n"
    )
    told = regard("tag", tmp_path / "model", "--columns", stdin=b"Anna\n\n" + b"the\n" * 21 + b"\nAnna\n")
    assert told.code == 2
    assert len(told.out.splitlines()) == 1
    assert "standard input, line 3: a sentence of 21 words" in told.err


def test_evaluating_prints_scores_with_signatures(trained_tagger: Trained, tmp_path: Path) -> None:
    told = regard("evaluate", trained_tagger.folder, "--split", "dev", "--json", tmp_path / "scores.json")
    assert told.code == 0, told.err
    assert told.out.startswith("F1 100 ± 0 (conlleval|sentences:30|words:")
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))["scores"]
    assert [score["name"] for score in scores] == ["F1", "precision", "recall", "accuracy"]


def test_looking_shows_tags_with_probabilities(trained_tagger: Trained, tmp_path: Path) -> None:
    told = regard("look", trained_tagger.folder, "the Anna .")
    assert told.code == 0, told.err
    assert "B-PER" in told.out or "S-PER" in told.out
    out = tmp_path / "look.json"
    assert regard("look", trained_tagger.folder, "the Anna .", "-o", out).code == 0
    assert Inspection.from_json(out.read_text(encoding="utf-8")).labels["source"] == ("the", "Anna", ".")


def test_files_are_checked_by_their_names_without_a_recipe(tmp_path: Path) -> None:
    write_columns(tmp_path)
    told = regard("check", tmp_path / "train.conll", "--dev", tmp_path / "dev.conll")
    assert told.code == 0
    assert "dev: 8 sentences in " in told.out
    with (tmp_path / "dev.conll").open("a", encoding="utf-8") as file:
        file.write("\nAnna I-PER\n")
    told = regard("check", tmp_path / "train.conll", "--dev", tmp_path / "dev.conll")
    assert told.code == 2
    assert "dev: 1 line with another number of columns than the first: refused; " in told.err


@pytest.mark.long
def test_the_built_in_recipe_reaches_what_it_promises(tmp_path: Path) -> None:
    """Three quarters of a minute on one core."""
    assert regard("train", "dates-tagging", "--out", tmp_path / "model").code == 0
    first = regard("evaluate", tmp_path / "model").out.splitlines()[0]
    assert first.startswith("F1 99")
