"""`regard evaluate` for models of any task: their scores on the development or test text of their recipe."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from regard.cli.arguments import Device, JsonFile, ModelFolder, Split
from regard.cli.corpus import part_of
from regard.cli.json_files import write_json

if TYPE_CHECKING:
    from regard.tasks import Trained


def evaluate(
    model: ModelFolder,
    split: Split = None,
    json: JsonFile = None,
    device: Device = "auto",
) -> None:
    """Evaluate a model on the text of its recipe; every number has its signature.

    [bold]Examples[/bold]

      regard evaluate runs/mine

      regard evaluate runs/mine --split dev --json scores.json
    """
    from regard.cli.evaluate import check_files
    from regard.tasks import load

    check_files(None, json, None)
    part = part_of(split, [])
    trained: Trained = load(model, device=device)
    scores = trained.evaluate(part)
    for score in scores:
        typer.echo(score)
    if json is not None:
        write_json(json, {"model": str(model), "split": part, "scores": [asdict(score) for score in scores]})
