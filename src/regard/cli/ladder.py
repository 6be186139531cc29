"""`regard ladder`: every kind of language model on the same text, in one table."""

import math
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.arguments import Changes, Dev, Resume, Test, check_resumes
from regard.cli.table import table
from regard.cli.train import leave_if_stopped
from regard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = "ngram, window, rnn, lstm, attentive, copying, cache, transformer"
"""All rungs, listed here so that help need not import their definitions."""
MINUTES = 1.9
"""With start, counting, and scoring, all rungs take a quarter of an hour at most on two cores."""


def ladder(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Training text; or a language model's recipe, whose text is used; or library or topics, "
            "which are built in.",
        ),
    ] = "library",
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the models, the table, and the picture.")] = Path(
        "runs/ladder"
    ),
    dev: Dev = None,
    test: Test = None,
    rungs: Annotated[str, typer.Option(help=f"Rungs, with commas between them: {NAMES}. (default: all)")] = "",
    minutes: Annotated[float, typer.Option(help="Maximum minutes of training per rung.")] = MINUTES,
    resume: Resume = False,
    settings: Changes = None,
) -> None:
    """Train each kind of language model on the same text, from counts to a Transformer, and show what each gains.

    The table goes to standard output, and to OUT as ladder.md, ladder.json, and ladder.png. --resume continues an
    interrupted ladder; finished rungs are not repeated.

    [bold]Examples[/bold]

      regard ladder

      regard ladder --rungs ngram,lstm,copying --minutes 2 --out runs/three

      regard ladder train.txt --dev dev.txt --test test.txt --minutes 10 --out runs/mine --set tokens.unknown="<unk>"
    """
    from regard.study.ladder import Ladder
    from regard.study.ladder_report import out_of_order, rows_of
    from regard.study.rungs import RUNGS

    chosen = [name.strip() for name in rungs.split(",")] if rungs else list(RUNGS)
    if not 0 < minutes < math.inf:
        raise UsageError(f"--minutes {minutes:g}: a rung needs some time, and an end; give a number above 0")
    check_resumes(out, resume)
    begun = time.monotonic()
    climbed = Ladder(_text(data, dev or [], test or []), chosen, out, minutes=minutes, changes=settings or [])
    stopped = climbed.climb(partial(typer.echo, err=True), resume=resume)
    results = climbed.results()
    for line in table(rows_of(results)) if results else []:
        typer.echo(line)
    for line in out_of_order(results):
        typer.echo(line, err=True)
    if stopped is not None:
        typer.echo("rungs are missing; continue with --resume", err=True)
        leave_if_stopped(stopped)
    typer.echo(f"the same, with a picture: {out}/ladder.md, {out}/ladder.png", err=True)
    training = sum(each.seconds for each in results) / 60
    typer.echo(f"in all {(time.monotonic() - begun) / 60:.1f} minutes; training took {training:.1f}", err=True)


def _text(data: str, dev: list[str], test: list[str]) -> "Mapping[str, Any]":
    """The settings of the named text."""
    from regard.data.built_in_text import DOCUMENTS
    from regard.recipe import LanguageRecipe, built_in_recipes, read_recipe

    named = data in DOCUMENTS or data.endswith(".toml") or data in built_in_recipes()
    if named and (dev or test):
        raise UsageError(f"{data}: has development and test text of its own; leave --dev and --test out")
    # Words that are left out of the vocabulary teach the model what an unknown word is like. Small ones are fast.
    if data in DOCUMENTS:
        return {"data.corpus": data, "data.documents": "headings", "tokens.least": 5 if data == "library" else 2}
    if named:
        recipe = read_recipe(data, kind=LanguageRecipe)
        text = recipe.data.model_dump(exclude={"segment", "context", "vary", "rotate"})
        parts = {"data": text, "tokens": recipe.tokens.model_dump()}
        return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}
    for path in (data, *dev, *test):
        wanted = "a text file, a recipe of a language model, or 'library'" if path == data else "a text file"
        if not Path(path).exists():
            raise UsageError(f"{path}: no such file; name {wanted}")
        if Path(path).is_dir():
            raise UsageError(f"{path}: this is a folder; name {wanted}")
    files = {"data.train": [data], "data.dev": dev, "data.test": test}
    return {name: paths for name, paths in files.items() if paths} | {"tokens.least": 2}
