"""Models that start from word vectors, through the real command: said, resumed and loaded without the file."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import RECIPE, WORDS, regard, write_corpus
from language_runs import language_recipe

import regard as library
from regard.checkpoint import load_weights
from regard.recipe import write_recipe
from regard.vectors import Vectors


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    path = tmp_path / "my.toml"
    text = RECIPE.replace("every = 150", "every = 2").replace('metric = "accuracy"', "")
    path.write_text(f'{text}\n[model.vectors]\nsource = "{tmp_path}/german"\n')
    matrix = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    Vectors([word.lower() for word in WORDS], matrix).save(tmp_path / "german")
    return path


def train(recipe: Path, out: Path, steps: int, *more: object) -> str:
    told = regard("train", recipe, "--out", out, "--set", f"train.steps={steps}", *more)
    assert told.code == 0, told.err
    return told.err


@pytest.mark.parametrize("freeze", [False, True])
def test_said_frozen_resumed_and_loaded_without_the_file(recipe: Path, tmp_path: Path, freeze: bool) -> None:
    change = ("--set", f"model.vectors.freeze={str(freeze).lower()}", "--set", "train.average.decay=0.9")
    said = train(recipe, tmp_path / "whole", 4, *change)
    stay = "; all of them are frozen" if freeze else ""
    line = f"source vectors: 8 of 8 tokens (100.0 %), 1 of them in lower case, start from {tmp_path}/german{stay}\n"
    assert line in said
    train(recipe, tmp_path / "parts", 2, *change)
    shutil.rmtree(tmp_path / "german")
    resumed = train(recipe, tmp_path / "parts", 4, "--resume", *change)
    assert "source vectors" not in resumed
    whole, parts = load_weights(tmp_path / "whole"), load_weights(tmp_path / "parts")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert library.load(tmp_path / "whole").translate(["eins zwei"])[0].text is not None
    name = "encoder.input.embedding.vectors"
    lengths = whole[name][4:].square().sum(1)
    assert (abs(lengths.mean().item() - 1) < 1e-5) == freeze


def test_a_file_that_is_not_there_is_named_before_training(recipe: Path, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "german")
    told = regard("train", recipe, "--out", tmp_path / "run")
    assert told.code == 2
    assert f"regard: model.vectors.source: {tmp_path}/german: no such file; in that folder are " in told.err


def test_both_sides_of_one_embedding(recipe: Path, tmp_path: Path) -> None:
    changes = ("--set", "model.tie=all", "--set", "tokens.shared=true", "--set", "model.vectors.target=other")
    told = regard("train", recipe, "--out", tmp_path / "run", *changes)
    assert told.code == 2
    assert (
        "model.tie = 'all' shares one embedding between both sides, but model.vectors names a file for each; "
        "leave one of them out"
    ) in told.err


def test_a_language_model(tmp_path: Path) -> None:
    chosen = language_recipe(tmp_path)
    width = getattr(chosen.model, "embedding", None) or getattr(chosen.model, "width", 0)
    words = {word for path in chosen.data.train for word in Path(path).read_text().split()}
    matrix = np.random.default_rng(0).standard_normal((len(words), width)).astype(np.float32)
    Vectors(sorted(words), matrix).save(tmp_path / "vectors")
    (tmp_path / "my.toml").write_text(write_recipe(chosen), encoding="utf-8")
    change = ("--set", f"model.vectors.file={tmp_path}/vectors", "--set", "train.steps=1")
    told = regard("train", tmp_path / "my.toml", "--out", tmp_path / "run", *change)
    assert told.code == 0, told.err
    assert "vectors: " in told.err
    assert f"start from {tmp_path}/vectors" in told.err
