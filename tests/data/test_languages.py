"""Profiles of languages, saved and read again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.characters import Characters
from regard.data.languages import Language
from regard.data.sides import LANGUAGES, languages_of, read_languages, write_languages

PAIRS = [(f"the house number {n} is old and white", f"das Haus Nummer {n} ist alt und weiss") for n in range(200)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    languages = languages_of(PAIRS)
    assert languages is not None
    write_languages(tmp_path, {"": languages})
    return tmp_path


def test_saved_languages_are_as_they_were(folder: Path) -> None:
    text = Characters.of([source for source, _ in PAIRS[:20]])
    for before, after in zip(languages_of(PAIRS) or (), read_languages(folder)[""], strict=True):
        np.testing.assert_array_equal(before.likeness(text), after.likeness(text))


def replaced(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda profile: profile.update({name: value})


@pytest.mark.parametrize(
    "damage",
    [
        replaced("counts", []),
        replaced("counts", [[[], []]] * 4),
        replaced("counts", [[[10**9], [1]]] * 4),
        replaced("counts", [[[1, 2], [1]]] * 4),
        replaced("counts", [[["a"], [1]]] * 4),
        replaced("totals", [0, 0, 0, 0]),
        replaced("order", 9),
        replaced("usual", "high"),
        lambda profile: profile.pop("order"),
    ],
)
def test_languages_that_are_damaged_count_as_unknown(folder: Path, damage: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / LANGUAGES).read_text("utf-8"))
    damage(content[""][0])
    (folder / LANGUAGES).write_text(json.dumps(content), "utf-8")
    with pytest.raises((ValueError, KeyError)):
        Language.from_json(content[""][0])
    assert read_languages(folder) == {}
