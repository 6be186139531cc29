"""`regard vectors train`: one recipe, or one text, one folder of vectors."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes, Resume, check_resumes
from regard.errors import UsageError
from regard.recipe import toml

if TYPE_CHECKING:
    from regard.train.vectors import Pace


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="[RECIPE]", help='A recipe file or a built-in recipe with task = "vectors".', show_default=False
        ),
    ] = None,
    text: Annotated[
        list[Path] | None,
        typer.Option("--text", help="Text to train on, instead of a recipe; repeatable. (default: Python's own help)"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder of the vectors. (default: runs/RECIPE)")
    ] = None,
    resume: Resume = False,
    settings: Changes = None,
) -> None:
    """Train word vectors on running text. Ctrl-C saves and stops; --resume continues as if nothing had happened.

    The exit code is 0 if training is complete, 130 after Ctrl-C (SIGINT) and 143 after SIGTERM, both of which save
    first, and 2 after an error, with a message.

    [bold]Examples[/bold]

      regard vectors train my.toml --out runs/vectors

      regard vectors train wiki-vectors-laptop --out runs/wiki

      regard vectors train --text wiki.txt.gz --set vectors.workers=2 --set vectors.dimension=200

      regard vectors train --text news.txt --set vectors.kind=cbow --set data.phrases=2
    """
    from regard.cli.corpus import recipe_with_data
    from regard.recipe import VectorsRecipe
    from regard.train.durations import duration
    from regard.train.vectors import learn_vectors

    changes = [*([] if recipe else _recipe_of(text or [])), *(settings or [])]
    if recipe and text:
        raise UsageError("a recipe names its text; leave --text out, or change the recipe's by --set data.train=[…]")
    chosen = recipe_with_data(recipe, changes, VectorsRecipe)
    where = out or Path("runs") / (Path(recipe).stem if recipe else "vectors")
    check_resumes(where, resume)
    learned = learn_vectors(chosen, where, resume=resume)
    if learned.vectors is None:
        print(_stopped(learned.pace), file=sys.stderr)
        raise typer.Exit(128 + (learned.signal or 2))
    learned_in = f", learned in {duration(learned.pace.seconds)}" if learned.pace else ", learned before"
    if learned.pace and learned.pace.words_per_second:
        learned_in += f" with compiling, at {learned.pace.words_per_second:,.0f} words/s after it"
    print(f"{len(learned.vectors):,} vectors of {learned.vectors.width} numbers{learned_in}: {where}")
    print(f"next: regard vectors similar {where} {learned.vectors.words[min(100, len(learned.vectors) - 1)]}")


def _stopped(pace: "Pace | None") -> str:
    """The message after a signal: incomplete counts are useless, everything else is saved."""
    if pace is None or pace.stage == "counting":
        return "stopped while counting, which starts over with --resume"
    done = f"{100 * pace.words / pace.total:.0f} %"
    return f"stopped at {done}, and everything is saved; continue with --resume"


def _recipe_of(text: list[Path]) -> list[str]:
    """The recipe for a text, as changes to an empty one; without text, Python's own help is read."""
    data = f"data.train={toml([str(path) for path in text])}" if text else "data.corpus=topics"
    return ["task=vectors", data, "vectors.kind=skipgram"]
