"""`regard evaluate` for models of any task: their scores on the development or test text of their recipe."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.arguments import Device, ModelFolder
from regard.cli.corpus import part_of

if TYPE_CHECKING:
    from regard.tasks import Trained


def evaluate(
    model: ModelFolder,
    split: Annotated[str | None, typer.Option(help="The recipe's test or dev text. (default: test)")] = None,
    out: Annotated[Path | None, typer.Option("--json", help="File for every number, as JSON for programs.")] = None,
    device: Device = "auto",
) -> None:
    """Say how good a model is on the text of its recipe, every number with its signature.

    [bold]Examples[/bold]

      regard evaluate runs/mine

      regard evaluate runs/mine --split dev --json scores.json
    """
    from regard.cli.evaluate import check_files, write_text
    from regard.tasks import load

    check_files(None, out, None)
    part = part_of(split, [])
    trained: Trained = load(model, device=device)
    scores = trained.evaluate(part)
    for score in scores:
        typer.echo(score)
    if out is not None:
        content = {"model": str(model), "split": part, "scores": [asdict(score) for score in scores]}
        write_text(out, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
