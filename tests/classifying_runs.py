"""A tiny classifier: whether what is praised or blamed in a text is good or bad."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained, regard, untouched

from regard.recipe import Recipe, parse_recipe, write_recipe

MARKS = {"good": ["lovely", "fine", "bright"], "bad": ["dull", "poor", "bleak"]}


def line(draw: random.Random) -> str:
    """A label, a tab, and a text with a word that decides it."""
    label = draw.choice([*MARKS])
    rest = [draw.choice(["a", "the", "film", "plot", "is"]) for _ in range(draw.randint(0, 5))]
    rest.insert(draw.randint(0, len(rest)), draw.choice(MARKS[label]))
    return f"{label}\t{' '.join(rest)}"


def write_labelled(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, list[str]]:
    """A file for each part; the settings that name them."""
    draw = random.Random(0)
    for part, size in (sizes or {"train": 150, "dev": 30, "test": 30}).items():
        (folder / f"{part}.tsv").write_text("".join(line(draw) + "\n" for _ in range(size)), encoding="utf-8")
    return {part: [str(folder / f"{part}.tsv")] for part in sizes or ("train", "dev", "test")}


def classifying_recipe(folder: Path, **tables: Any) -> Recipe:
    """A recipe of files written here, or of the tables that are given instead."""
    data = tables.pop("data", {}) or {}
    files = {} if "train" in data or "corpus" in data else write_labelled(folder)
    model = {"encoder": {"kind": "recurrent", "embedding": 12, "hidden": 8}} | tables.pop("model", {})
    train = {
        "steps": 60,
        "batch_tokens": 128,
        "device": "cpu",
        "keep": 1,
        "optimizer": {"rate": 2e-2},
        "schedule": {"kind": "constant", "warmup": 0},
        "validation": {"every": 30},
    } | tables.pop("train", {})
    words = {"width": 12} | tables.pop("words", {})
    return parse_recipe(
        {"task": "classifying", "data": files | data, "words": words, "model": model, "train": train, **tables}
    )


@pytest.fixture(scope="session")
def trained_classifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """A classifier with attention that the real command trained."""
    place = tmp_path_factory.mktemp("classifier")
    recipe = place / "my.toml"
    wished = classifying_recipe(place, model={"pooling": {"kind": "attention"}}, train={"steps": 40})
    recipe.write_text(write_recipe(wished), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)


def conversation(draw: random.Random) -> list[tuple[str, str, str]]:
    """Speakers, what they say, and its act: "yes" answers a question, and agrees with anything else."""
    said: list[tuple[str, str, str]] = []
    for _ in range(draw.randint(2, 6)):
        speaker = draw.choice("AB")
        first = draw.choice([("is it ?", "question"), ("it is .", "statement")])
        said.append((speaker, *first))
        other = "AB".replace(speaker, "")
        said.append((other, "yes .", {"question": "answer", "statement": "agreement"}[first[1]]))
    return said


def write_conversations(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, Any]:
    """A file for each part; the settings that name them."""
    draw = random.Random(0)
    for part, size in (sizes or {"train": 40, "dev": 8, "test": 8}).items():
        blocks = ("".join("\t".join(row) + "\n" for row in conversation(draw)) for _ in range(size))
        (folder / f"{part}.tsv").write_text("\n".join(blocks), encoding="utf-8")
    files = {part: [str(folder / f"{part}.tsv")] for part in sizes or ("train", "dev", "test")}
    return files | {"conversations": True, "speaker_column": 1, "text_column": 2, "label_column": 3}


@pytest.fixture(scope="session")
def trained_converser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """A classifier of conversations that the real command trained."""
    place = tmp_path_factory.mktemp("conversations")
    recipe = place / "my.toml"
    model = {"context": {"kind": "attention", "reach": 2}, "pooling": {"kind": "attention"}}
    wished = classifying_recipe(place, data=write_conversations(place), model=model)
    recipe.write_text(write_recipe(wished), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)
