"""`regard look`: what happens inside a model while it reads or writes one text."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.arguments import DecodingChanges, Device, Head, ModelFolder, To
from regard.errors import UsageError


def look(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to read.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="For a translator: the target text. (default: its own translation)",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Arrays to show, by name or pattern, such as 'encoder.*'; look --list prints all names. (default: "
            "what matters most)",
            show_default=False,
        ),
    ] = None,
    head: Head = None,
    names: Annotated[bool, typer.Option("--list", help="List the names of all arrays.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="An .html, .png, .svg, .pdf, or .json file. (default: in the terminal)"),
    ] = None,
    settings: DecodingChanges = None,
    to: To = None,
    device: Device = "auto",
) -> None:
    """Show what happens inside a model: attention, gates and states, candidates and their probabilities.

    In the terminal, as a picture, as a page on which you can choose what to see, or as JSON.

    [bold]Examples[/bold]

      regard look runs/dates "3. März 2021"

      regard look runs/mine "Das ist ein Haus ." -o look.html

      regard look runs/mine "Das ist ein Haus ." "This is a house ." --show "encoder.*" -o look.png

      regard look runs/lstm "the company said" --list
    """
    from regard.inspect import check_look_name, print_inspection
    from regard.tasks import load

    if out is not None:
        check_look_name(out)
    trained = load(model, device=device, changes=settings or [])
    if to is not None:
        if not hasattr(trained, "into"):
            raise UsageError(f"--to {to}: this model does not write several languages; leave --to out")
        trained = trained.into(to)
    seen = trained.inspect(text, *([] if target is None else [target]))
    if names:
        found = seen.matching(show or "*")
        width = max(map(len, found))
        for name, array in found.items():
            typer.echo(f"{name:{width}}  {array!r}")
    elif out is None:
        print_inspection(seen, show=show, head=head)
        if seen.note:
            typer.echo(seen.note, err=True)
    else:
        seen.save(out, show=show, head=head)
        typer.echo(out)
