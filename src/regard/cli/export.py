"""`regard export`: a trained Transformer as a model of CTranslate2."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import ModelFolder


def export(
    model: ModelFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to create.", show_default=False)],
) -> None:
    """Write a Transformer translator as a model folder for CTranslate2, a runtime for CPUs and GPUs.

    Its tokens are the token numbers of the model's tokenizers. Needs an extra: pip install 'regard\\[export]'.

    [bold]Examples[/bold]

      regard export runs/mine exported
    """
    from regard.decode.export import export as write
    from regard.tasks import load_translator

    translator = load_translator(model, device="cpu")
    write(translator.model, translator.recipe.model, out)
    typer.echo(f"{out}: a CTranslate2 model", err=True)
