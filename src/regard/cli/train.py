"""`regard train`: one recipe, one run."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import Changes, RecipeName


def train(
    recipe: RecipeName,
    out: Annotated[Path | None, typer.Option(help="Folder of the model. (default: runs/RECIPE)")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped or killed.")] = False,
    settings: Changes = None,
) -> None:
    """Train a model by a recipe. Ctrl-C saves and leaves; --resume goes on as if nothing had happened.

    [bold]Examples[/bold]

      regard train my.toml --out runs/mine

      regard train my.toml --out runs/mine --resume

      regard train dates --set train.steps=200 --set model.attention.score=dot

      torchrun --nproc-per-node 2 -m regard train my.toml --out runs/mine
    """
    from regard.recipe import read_recipe
    from regard.train import run

    chosen = read_recipe(recipe, settings or [])
    run(chosen, out or Path("runs") / Path(recipe).stem, resume=resume)
