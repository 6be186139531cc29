"""Arguments that several commands take, described once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from regard.errors import UsageError

Source = Annotated[Path, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line.", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="TARGET", help="Target text, a sentence a line.", show_default=False)]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.", show_default=False)]
RecipeName = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE", help="A recipe file, or a built-in recipe (see `regard recipes`).", show_default=False
    ),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe; repeatable.")
]
Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        "--ensemble",
        metavar="MODEL",
        help="Another model to write with, tokenized alike; repeatable.",
        show_default=False,
    ),
]
DecodingChanges = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change how the model decodes, such as decode.method=sample."),
]
Beam = Annotated[int | None, typer.Option(help="Hypotheses kept at each step. (default: the recipe's)")]
To = Annotated[
    str | None,
    typer.Option(help="Language to write, a tag of a model that writes several (data.tags).", show_default=False),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]


def refuse_less_than_one(given: Mapping[str, int | None]) -> None:
    """Refuses numbers, by their options, of which there must be one at least; before a model is loaded."""
    for option, number in given.items():
        if number is not None and number < 1:
            raise UsageError(f"{option} {number}: give 1 or more")
