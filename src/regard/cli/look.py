"""`regard look`: where a model looks while it writes."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import Device, ModelFolder, To


def look(
    model: ModelFolder,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Text to read.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET", help="Text to write. (default: the model's own translation)", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="A .html, .png, .svg or .pdf file. (default: in the terminal)")
    ] = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Show where a model looks while it writes: a heat map in the terminal, as a picture, or as a page.

    [bold]Examples[/bold]

      regard look runs/dates "3. März 2021"

      regard look runs/mine "Das ist ein Haus ." -o look.html

      regard look runs/mine "Das ist ein Haus ." "This is a house ." -o look.png
    """
    from regard.inspect import check_picture_name, print_look, save_page, save_picture
    from regard.tasks import load_translator

    is_page = out is not None and out.suffix.lower() in (".html", ".htm")
    if out is not None and not is_page:
        check_picture_name(out, others=(".html",))
    seen = load_translator(model, device=device).into(to).look(source, target)
    if out is None:
        print_look(seen)
    elif is_page:
        save_page([seen], out)
    else:
        save_picture(seen, out)
    if out is not None:
        typer.echo(out)
