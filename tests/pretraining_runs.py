"""A tiny text in which each word tells what may stand beside it, and an encoder that has learned it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Trained, regard, untouched

from regard.recipe import Recipe, parse_recipe, write_recipe

PEOPLE, VERBS, PLACES = ["Anna", "Emil", "Ida"], ["sees", "hears"], ["Rome", "Oslo", "Lima"]


def sentence(draw: random.Random) -> str:
    """Someone does something in some place."""
    words = [draw.choice(PEOPLE), draw.choice(VERBS), "the", draw.choice(["film", "plot"]), "in", draw.choice(PLACES)]
    return " ".join([*words, "."])


def write_text(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, list[str]]:
    """A file for each part; the settings that name them."""
    draw = random.Random(0)
    for part, size in (sizes or {"train": 200, "dev": 30, "test": 30}).items():
        (folder / f"{part}.txt").write_text("".join(sentence(draw) + "\n" for _ in range(size)), encoding="utf-8")
    return {part: [str(folder / f"{part}.txt")] for part in sizes or ("train", "dev", "test")}


def pretraining_recipe(folder: Path, **tables: Any) -> Recipe:
    """A recipe of files written here, or of the tables that are given instead."""
    data = tables.pop("data", {}) or {}
    files = {} if "train" in data or "corpus" in data else write_text(folder)
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
    return parse_recipe(
        {"task": "pretraining", "data": files | data, "words": words, "model": model, "train": train, **tables}
    )


@pytest.fixture(scope="session")
def trained_encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """An encoder that the real command trained on masked words."""
    place = tmp_path_factory.mktemp("encoder")
    recipe = place / "my.toml"
    recipe.write_text(write_recipe(pretraining_recipe(place, train={"steps": 120})), encoding="utf-8")
    outcome = regard("train", recipe, "--out", place / "model")
    assert outcome.code == 0, outcome.err
    with untouched(place):
        yield Trained(place / "model", recipe, outcome.err)
