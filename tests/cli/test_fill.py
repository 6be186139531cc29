"""Pre-training through the real commands: train, check, fill, evaluate, look, and models that start from it."""

from pathlib import Path

import pytest
from command_line import Trained, regard
from pretraining_runs import PEOPLE, VERBS, pretraining_recipe
from tagging_runs import tagging_recipe

from regard.recipe import RecurrentEncoding, write_recipe


def test_training_says_what_it_found_and_what_is_learned(trained_encoder: Trained) -> None:
    assert "train: 200 lines in " in trained_encoder.err
    assert "17 words in the vocabulary; the encoder learns to guess 15 % of words" in trained_encoder.err
    assert "perplexity" in trained_encoder.err


def test_blanks_are_filled_line_for_line(trained_encoder: Trained, tmp_path: Path) -> None:
    text = "___ sees the film in Rome .\n\nAnna ___ the  plot in ___ .\nIda  sees\n"
    told = regard("fill", trained_encoder.folder, stdin=text.encode())
    assert told.code == 0, told.err
    first, empty, third, last = told.out.splitlines()
    assert first.split()[0] in PEOPLE
    assert third.split()[1] in VERBS
    assert (empty, last) == ("", "Ida  sees")
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert regard("fill", trained_encoder.folder, tmp_path / "text.txt").out == told.out
    told = regard("fill", trained_encoder.folder, "--guesses", "2", stdin=b"Anna ___ the plot in ___ .\nIda\n")
    (of_first, of_second), rest = told.out.splitlines()[0].split(" | "), told.out.splitlines()[1]
    assert {guess.split()[0] for guess in of_first.split("\t")} == set(VERBS)
    assert len(of_second.split("\t")) == 2
    assert rest == ""


def test_a_text_that_is_too_long_is_named_after_those_before_it_were_filled(
    trained_encoder: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecurrentEncoding, "learned_positions", 200)
    told = regard("fill", trained_encoder.folder, stdin=b"Anna\n" + b"the " * 201)
    assert (told.code, told.out) == (2, "Anna\n")
    assert "standard input, line 2: a sentence of 201 words, but this model has learned 200 positions" in told.err


def test_it_is_evaluated_looked_into_and_refused_elsewhere(trained_encoder: Trained, tmp_path: Path) -> None:
    told = regard("evaluate", trained_encoder.folder, "--split", "dev")
    assert told.code == 0, told.err
    assert told.out.startswith("perplexity per word ")
    told = regard("look", trained_encoder.folder, "Anna ___ the film in Rome .", "-o", tmp_path / "look.html")
    assert told.code == 0, told.err
    assert (tmp_path / "look.html").stat().st_size > 1000
    told = regard("tag", trained_encoder.folder, stdin=b"Anna\n")
    assert told.code == 2
    assert "this model is for pretraining, and a model for tagging is needed here; its command is fill" in told.err


def test_problems_of_the_text_are_named_by_line(tmp_path: Path) -> None:
    recipe = tmp_path / "my.toml"
    recipe.write_text(write_recipe(pretraining_recipe(tmp_path)), encoding="utf-8")
    assert regard("check", recipe).code == 0
    with (tmp_path / "train.txt").open("ab") as file:
        file.write(b"\n\xff\xfe\n")
    told = regard("check", recipe)
    assert told.code != 0
    assert "train.txt:202" in told.out + told.err
    told = regard("check", recipe, "--set", "data.invalid=drop")
    assert "1 line without text: dropped; " in told.out + told.err


def test_a_tagger_starts_from_it_by_the_command_and_goes_on(trained_encoder: Trained, tmp_path: Path) -> None:
    recipe = tmp_path / "tagger.toml"
    start = {"model": str(trained_encoder.folder), "parts": ["words", "encoder"], "frozen_steps": 3}
    optimizer = {"rate": 2e-2, "part_rates": ["encoder=0.5", "words=0.1"]}
    train = {"steps": 4, "validation": {"every": 2}, "start": start, "optimizer": optimizer}
    recipe.write_text(write_recipe(tagging_recipe(tmp_path, train=train)), encoding="utf-8")
    told = regard("train", recipe, "--out", tmp_path / "tagger")
    assert told.code == 0, told.err
    assert "everything else is new; they are frozen for 3 steps" in told.err
    assert "\nstep 4: words, encoder begin to learn\n" in told.err
    told = regard("train", recipe, "--out", tmp_path / "tagger", "--resume", "--set", "train.steps=5")
    assert told.code == 0, told.err
    told = regard(
        *("train", recipe, "--out", tmp_path / "tagger", "--resume", "--set", "train.steps=6"),
        *("--set", "train.start.frozen_steps=9"),
    )
    assert told.code == 2
    assert "this run was begun with train.start.frozen_steps = 3, but the recipe now says 9" in told.err
    assert regard("tag", tmp_path / "tagger", stdin=b"Anna sees Rome .\n").code == 0
