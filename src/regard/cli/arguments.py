"""Arguments that several commands take, described once."""

from pathlib import Path
from typing import Annotated

import typer

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.", show_default=False)]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step. [default: the recipe's]")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
