"""Corpora that are named on the command line: files of pairs, or a recipe."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import EncodingError, UsageError, one_of

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.recipe import HeldOut, Recipe

PAIRS_AT_ONCE = 1000
"""Pairs that are worked on together: many enough to sort by length, few enough for memory and to see progress."""

CONVERT = "convert the text first, for example with iconv"

# A recipe that checks data needs a model and an end by the rules of recipes, though neither is looked at.
_ONLY_DATA = ["model.kind=transformer", "train.steps=1"]


def recipe_of(
    named: Sequence[str],
    dev: Sequence[str] = (),
    test: Sequence[str] = (),
    changes: Sequence[str] = (),
    *,
    pairs: bool = False,
) -> "Recipe":
    """The recipe that was named, or one whose training text is the files that were named: two files, or one that holds
    both sides, are for translation, another single file is running text, unless it must be `pairs`."""
    from regard.recipe import built_in_recipes, read_recipe, toml

    files = {f"data.{part}": paths for part, paths in {"dev": dev, "test": test}.items() if paths}
    is_recipe = len(named) == 1 and (named[0].endswith(".toml") or named[0] in built_in_recipes())
    if not is_recipe:
        files["data.train"] = named
    is_text = len(named) == 1 and not pairs and not named[0].removesuffix(".gz").endswith((".tsv", ".jsonl"))
    name, first = (named[0], []) if is_recipe else (None, [*(["task=language"] if is_text else []), *_ONLY_DATA])
    every = [*first, *(f"{key}={toml(list(paths))}" for key, paths in files.items()), *changes]
    return read_recipe(name, every)


def part_of(split: str | None, files: Sequence[str | Path]) -> "HeldOut":
    """The part of a model's own corpus that --split names, the test text if none; files may not be named beside it."""
    if split not in (None, "dev", "test"):
        raise UsageError(f"--split {split!r} is not known; known are {one_of(('test', 'dev'), split)}")
    if split and files:
        raise UsageError(f"--split {split} is a part of the model's own corpus, and files are named; leave one out")
    return "dev" if split == "dev" else "test"


def pairs_of(named: Sequence[str | Path]) -> "list[Pair]":
    """The pairs of two files (source, target), or of one .tsv or .jsonl."""
    return [pair for piece in pieces_of(named) for pair in piece]


def pieces_of(named: Sequence[str | Path]) -> "Iterator[list[Pair]]":
    """The same, some at a time, so that files may be larger than memory."""
    from regard.data import load_corpus
    from regard.recipe import TranslationRecipe

    recipe = recipe_of([str(path) for path in named], pairs=True)
    assert isinstance(recipe, TranslationRecipe)
    pairs = iter(load_corpus(recipe.data, recipe.seed).train)
    with read_as_it_is():
        while piece := list(islice(pairs, PAIRS_AT_ONCE)):
            yield piece


@contextmanager
def read_as_it_is() -> Iterator[None]:
    """Where a command has no setting for lines of invalid UTF-8, the advice is another one than for a recipe."""
    try:
        yield
    except EncodingError as error:
        raise EncodingError(error.where, CONVERT) from None
