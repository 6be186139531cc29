"""`regard train`: one recipe, one run."""

from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Changes, RecipeName, Resume, check_resumes
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.train import Ended


def train(
    recipe: RecipeName,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder of the model. (default: runs/RECIPE)")] = None,
    resume: Resume = False,
    settings: Changes = None,
) -> None:
    """Train a model by a recipe. Ctrl-C saves and stops; --resume continues as if nothing had happened.

    The exit code is 0 if the recipe ended the training, 130 after Ctrl-C (SIGINT) and 143 after SIGTERM, both of which
    save first, and 2 after an error, with a message.

    [bold]Examples[/bold]

      regard train my.toml --out runs/mine

      regard train my.toml --out runs/mine --resume

      regard train dates --set train.steps=200 --set model.attention.score=dot

      torchrun --nproc-per-node 2 -m regard train my.toml --out runs/mine
    """
    from regard.cli.corpus import recipe_with_data
    from regard.recipe import TASKS, AnyRecipe, Recipe, read_recipe

    folder = out or Path("runs") / Path(recipe).stem
    check_resumes(folder, resume)
    task = read_recipe(recipe, settings or [], kind=AnyRecipe).task
    if trainer := TASKS[task].trainer:
        raise UsageError(f"{recipe}: a recipe for {task}, by which `regard {trainer} {recipe}` trains")
    chosen = recipe_with_data(recipe, settings or [], Recipe)
    from regard.checkpoint import ModelFolder
    from regard.train import run

    try:
        leave_if_stopped(run(chosen, folder, resume=resume))
    except KeyboardInterrupt:
        # Before there was anything to save, or for the second time.
        saved = "--resume goes on from the last checkpoint" if ModelFolder(folder).names() else "nothing was saved"
        typer.echo(f"left at once; {saved}", err=True)
        raise typer.Exit(128 + SIGINT) from None


def leave_if_stopped(ended: "Ended") -> None:
    """Exits with the code that shells use for a signal, so that no script continues with a half-trained model."""
    if ended.signal is not None:
        raise typer.Exit(128 + ended.signal)
