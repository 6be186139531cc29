"""`regard repeat`: one recipe, several seeds, one table."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes, RecipeName, Resume, check_resumes
from regard.cli.table import table
from regard.errors import UsageError, counted

if TYPE_CHECKING:
    from regard.train import Results, Spread

INTERRUPTED = 130
"""Exit code of a command that was stopped by Ctrl-C, as shells have it."""
DECIMALS = 3
"""Of all scores, whatever their size: enough for shares from 0 to 1, and not too many for those up to 100."""


def repeat(
    recipe: RecipeName,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="Folder for the models and the results.", show_default=False),
    ],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "1,2,3",
    on_test: Annotated[
        bool,
        typer.Option(
            "--on-test", help="Also evaluate on the test text, once for each seed, when everything is decided."
        ),
    ] = False,
    resume: Resume = False,
    settings: Changes = None,
) -> None:
    """Train a recipe once for each seed, evaluate every model on the development text, and print the mean, standard
    deviation, and range of every score.

    The models are in OUT/seed-N, and all numbers in OUT/results.json. Ctrl-C saves and stops; with --resume, finished
    seeds are not repeated, and you may add more: the results are those of all seeds in OUT.

    [bold]Examples[/bold]

      regard repeat dates --seeds 1,2,3 --out runs/dates-seeds

      regard repeat my.toml --out runs/mine --set model.dropout=0.2

      regard repeat ptb-lstm --seeds 1,2,3 --out runs/lstm-seeds --on-test

      regard repeat my.toml --seeds 1,2,3,4,5 --out runs/mine --on-test --resume
    """
    from regard.cli.corpus import recipe_with_data
    from regard.recipe import Recipe
    from regard.train import Repeat

    check_resumes(out, resume)
    task = Repeat(recipe_with_data(recipe, settings or [], Recipe), seeds_of(seeds), out, test=on_test)
    results = task.run(resume=resume, say=partial(typer.echo, err=True))
    for line in lines_of(results):
        typer.echo(line)
    if results.unfinished:
        left = ", ".join(map(str, results.unfinished))
        typer.echo(f"stopped, and everything is saved; still to do: seed {left}; continue with --resume", err=True)
        raise typer.Exit(INTERRUPTED)


def seeds_of(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds {text!r}: expected whole numbers with commas between them, such as 1,2,3") from None


def lines_of(results: "Results") -> Iterator[str]:
    """A table for each split, and then every distinct signature once."""
    signatures = dict[str, None]()
    for split, spreads in results.spreads.items():
        count = max(len(spread.values) for spread in spreads)
        rows = [[f"{split}, {counted(count, 'seed')}", "mean", "deviation", "lowest", "highest"]]
        rows += [_row(spread) for spread in spreads]
        yield from ["", *table(rows)]
        signatures |= {f"{spread.name}: {signature}": None for spread in spreads for signature in spread.signatures}
    yield from ["", *signatures] if signatures else []


def _row(spread: "Spread") -> list[str]:
    numbers = (spread.mean, spread.deviation, min(spread.values), max(spread.values))
    return [spread.name, *("–" if number is None else f"{number:.{DECIMALS}f}" for number in numbers)]
