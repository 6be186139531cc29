"""Corpora that are named on the command line: files of pairs, or a recipe."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from regard.errors import DataError, EncodingError, UsageError, one_of

if TYPE_CHECKING:
    from regard.data import Pair
    from regard.recipe import AnyRecipe, HeldOut, TranslationCorpus
    from regard.tasks.translator import Translator

R = TypeVar("R", bound="AnyRecipe")

PAIRS_AT_ONCE = 1000
"""Pairs that are processed together: many enough to sort by length, few enough for memory and to see progress."""

CONVERT = "convert the text first, for example with iconv"


def corpus_of(
    named: Sequence[str], dev: Sequence[str] = (), test: Sequence[str] = (), changes: Sequence[str] = ()
) -> "AnyRecipe":
    """The named recipe, or the settings for reading the named files. Their task is the one that a change names
    (`task=tagging`), or the first that takes files of their number and names; those registered last are asked first,
    because the first ones take almost any files."""
    from regard.recipe import TASKS, AnyRecipe, parse_corpus, read_recipe, toml

    held_out = {part: list(paths) for part, paths in {"dev": dev, "test": test}.items() if paths}
    if is_recipe(named):
        files = (f"data.{part}={toml(paths)}" for part, paths in held_out.items())
        return read_recipe(named[0], [*files, *changes], kind=AnyRecipe)
    task = task_among(changes)
    task = task or next((name for name in reversed(list(TASKS)) if TASKS[name].takes(named)), None)
    if task is None and any(name.removesuffix(".gz").endswith(".csv") for name in named):
        raise UsageError(
            f"{', '.join(named)}: comma-separated values are not read, because commas stand in text too; save the file "
            "with tabs between the columns and a name that ends in .tsv"
        )
    if task is None:
        raise UsageError(f"{', '.join(named)}: no task reads such files; name a recipe that says what they are")
    return parse_corpus(TASKS[task].corpus, {"data": {"train": list(named), **held_out}}, changes)


def is_recipe(named: Sequence[str]) -> bool:
    """Whether the argument is one recipe, and not files."""
    from regard.recipe import built_in_recipes

    return len(named) == 1 and (named[0].endswith(".toml") or named[0] in built_in_recipes())


def task_among(changes: Sequence[str]) -> str | None:
    """The task that `key=value` changes name."""
    from regard.recipe import TASKS

    pairs = (change.partition("=") for change in changes)
    named = next((value.strip(" \"'") for key, _, value in pairs if key.strip() == "task"), None)
    if named is not None and named not in TASKS:
        raise UsageError(f"--set task={named}: this task is not known; known are {one_of(TASKS, named)}")
    return named


def recipe_with_data(name: str | None, changes: Sequence[str], kind: type[R]) -> R:
    """The recipe to train. If files of a built-in one are missing, the error quotes its first comment, which says where
    to get them."""
    from regard.recipe import built_in_recipes, read_recipe, settings

    recipe = read_recipe(name, changes, kind=kind)
    if name is None or name not in built_in_recipes():
        return recipe
    tables = recipe.model_dump()["data"]
    named = [setting.name.removeprefix("data.") for setting in settings(recipe.task) if setting.is_path]
    files = [Path(file) for each in named for file in tables.get(each, []) if isinstance(tables[each], list)]
    missing = [file for file in files if not file.exists()]
    if missing:
        raise DataError(
            f"{missing[0]}: no such file, which the built-in recipe {name!r} needs. {built_in_recipes()[name]} Put the "
            "files where the command is run, or name them with --set 'data.train=[\"…\"]' and so on"
        )
    return recipe


def pairs_in(named: Sequence[str | Path]) -> "TranslationCorpus":
    """The settings for reading files of pairs."""
    from regard.recipe import TranslationCorpus, parse_corpus

    return parse_corpus(TranslationCorpus, {"data": {"train": [str(path) for path in named]}})


def part_of(split: str | None, files: Sequence[str | Path]) -> "HeldOut":
    """The part of a model's own corpus that --split names, by default the test text; it excludes files."""
    if split not in (None, "dev", "test"):
        raise UsageError(f"--split {split!r} is not known; known are {one_of(('test', 'dev'), split)}")
    if split and files:
        raise UsageError(f"--split {split} is a part of the model's own corpus, and files are named; leave one out")
    return "dev" if split == "dev" else "test"


def pairs_of(named: Sequence[str | Path]) -> "list[Pair]":
    """The pairs of two files (source, target), or of one .tsv or .jsonl."""
    return [pair for piece in pieces_of(named) for pair in piece]


def pieces_of(named: Sequence[str | Path]) -> "Iterator[list[Pair]]":
    """The same in pieces, so that files may be larger than memory; without files, from standard input, tab-separated.
    An error in a line is raised after the pairs before it were yielded; two files of unequal numbers of lines are
    refused before."""
    from regard.cli.lines import STANDARD_INPUT
    from regard.data import load_corpus

    if list(named) in ([], [STANDARD_INPUT]):
        yield from _arriving_pairs()
        return
    if len(named) == 2:
        count_pairs(named)
    corpus = pairs_in(named)
    pairs = iter(load_corpus(corpus.data, corpus.seed).train)
    piece: list[Pair] = []
    with read_as_it_is():
        try:
            for pair in pairs:
                piece.append(pair)
                if len(piece) == PAIRS_AT_ONCE:
                    yield piece
                    piece = []
        except DataError:
            if piece:
                yield piece
            raise
        if piece:
            yield piece


def count_pairs(named: Sequence[str | Path]) -> int | None:
    """The number of pairs in files; None if it is unknown before the end, as with a pipe. Refuses two files of unequal
    numbers of lines."""
    from regard.data.pair_files import PairFiles
    from regard.data.shifts import unequal_lines

    if not named or not all(Path(each).is_file() for each in named):
        return None
    files = PairFiles([str(path) for path in named]).files
    try:
        counts = [sum(1 for _ in lines) for lines in files]
    except DataError:
        return None  # raised again where the pairs are read
    if min(counts) != max(counts):
        raise DataError(unequal_lines(files[0].path, files[1].path, files[0], files[1]))
    return counts[0]


def _arriving_pairs() -> "Iterator[list[Pair]]":
    from regard.cli.lines import pieces_of_lines
    from regard.data import Pair
    from regard.data.pair_files import both_sides

    for lines in pieces_of_lines([], "Type a text, a tab and its translation, then Enter; Ctrl-D ends."):
        pairs: list[Pair] = []
        for line in lines:
            try:
                pairs.append(Pair(*both_sides(line.text.split("\t"), line.place)))
            except DataError:
                yield pairs
                raise
        yield pairs


def warn_if_swapped(translator: "Translator", pairs: "list[Pair]") -> None:
    """Warns on standard error if files seem to have been given in the wrong order."""
    from regard.tasks.swapped_files import swapped

    if told := swapped(translator, pairs):
        typer.echo(told, err=True)


@contextmanager
def read_as_it_is() -> Iterator[None]:
    """Adapts the advice on invalid UTF-8 for commands that have no setting for it."""
    try:
        yield
    except EncodingError as error:
        raise EncodingError(error.where, error.advice) from None
