"""A tiny tagger: names of two kinds, which may follow each other, marked by what stands before them."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained, regard, untouched

from regard.recipe import Recipe, parse_recipe, write_recipe

FEW = {"train": 30, "dev": 8, "test": 8}
ENOUGH = {"train": 150, "dev": 30, "test": 30}
"""Sentences to learn from."""
PEOPLE, PLACES = ["Anna", "Emil", "Ida"], ["Rome", "Oslo", "Lima"]


def sentence(draw: random.Random) -> list[tuple[str, str]]:
    """Words with their tags, in IOB2."""
    rows: list[tuple[str, str]] = []
    for _ in range(draw.randint(1, 3)):
        rows += [(draw.choice(["the", "and", "sees"]), "O")] * draw.randint(0, 1)
        kind, names = draw.choice([("PER", PEOPLE), ("LOC", PLACES)])
        rows += [(draw.choice(names), f"{prefix}-{kind}") for prefix in "BI"[: draw.randint(1, 2)]]
        rows.append((".", "O"))
    return rows


def write_columns(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, list[str]]:
    """A file for each part; the settings that name them."""
    draw = random.Random(0)
    for part, size in (sizes or FEW).items():
        blocks = ("\n".join(f"{word} x {tag}" for word, tag in sentence(draw)) for _ in range(size))
        (folder / f"{part}.conll").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return {part: [str(folder / f"{part}.conll")] for part in sizes or FEW}


def labelled_sentence(draw: random.Random) -> str:
    """A sentence on one line, with a label: what kind of name comes first."""
    rows = sentence(draw)
    first = next(tag for _, tag in rows if tag != "O").removeprefix("B-")
    return "\t".join([" ".join(word for word, _ in rows), " ".join(tag for _, tag in rows), f"{first.lower()}#first"])


def write_tagged_lines(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, Any]:
    """A file of sentences with labels for each part; the settings that name them."""
    draw = random.Random(0)
    for part, size in (sizes or FEW).items():
        lines = (labelled_sentence(draw) + "\n" for _ in range(size))
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")
    files = {part: [str(folder / f"{part}.tsv")] for part in sizes or FEW}
    return files | {"format": "lines", "word_column": 1, "tag_column": 2, "label_column": 3}


def tagging_recipe(folder: Path, **tables: Any) -> Recipe:
    """A recipe of files written here, or of the tables that are given instead."""
    data = tables.pop("data", {}) or {}
    files = {} if "train" in data or "corpus" in data else write_columns(folder)
    model = {"encoder": {"kind": "recurrent", "embedding": 16, "hidden": 8}} | tables.pop("model", {})
    train = {
        "steps": 60,
        "batch_tokens": 128,
        "device": "cpu",
        "keep": 1,
        "optimizer": {"rate": 2e-2},
        "schedule": {"kind": "constant", "warmup": 0},
        "validation": {"every": 30},
    } | tables.pop("train", {})
    words = {"width": 12, "characters": {"kind": "cnn", "embedding": 4, "width": 4}} | tables.pop("words", {})
    table = {"task": "tagging", "data": files | data, "words": words, "model": model, "train": train, **tables}
    return parse_recipe(table)


@pytest.fixture(scope="session")
def trained_tagger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """A tagger that the real command trained."""
    place = tmp_path_factory.mktemp("tagger")
    recipe = place / "my.toml"
    quick = {"steps": 40, "validation": {"every": 40}}
    model = {"scheme": "iobes", "forbid": True}
    wished = tagging_recipe(place, data=write_columns(place, ENOUGH), model=model, train=quick)
    recipe.write_text(write_recipe(wished), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)


@pytest.fixture(scope="session")
def trained_joint_tagger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """A tagger that labels sentences too, which the real command trained."""
    place = tmp_path_factory.mktemp("joint")
    recipe = place / "my.toml"
    quick = {"steps": 60, "validation": {"every": 30, "metric": "exact"}}
    model = {"pooling": {"kind": "attention"}}
    wished = tagging_recipe(place, data=write_tagged_lines(place, ENOUGH), model=model, train=quick)
    recipe.write_text(write_recipe(wished), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)
