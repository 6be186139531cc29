"""`regard recipes`: what can be trained without writing a line, and every setting there is."""

from typing import Annotated

import typer


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Print this recipe as TOML, every setting spelled out.", show_default=False
        ),
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="List every setting with its default.")] = False,
) -> None:
    """List the built-in recipes, print one, or list every setting.

    [bold]Examples[/bold]

      regard recipes

      regard recipes dates > my.toml

      regard recipes --settings | grep dropout
    """
    from regard import recipe

    if settings:
        for setting in recipe.settings():
            none = "(must be given)" if setting.required else "(not set)"
            default = none if setting.default is None else f"= {recipe.toml(setting.default)}"
            belongs = ", ".join(filter(None, (setting.task, setting.only_for)))
            only = f"  [{belongs} only]" if belongs else ""
            only += f"  [if {setting.used_if}]" if setting.used_if else ""
            typer.echo(f"{setting.name} {default}{only}\n    {setting.sentence} ({setting.kind})")
    elif name is not None:
        typer.echo(recipe.spelled_out(name), nl=False)
    else:
        known = recipe.built_in_recipes()
        width = max(map(len, known))
        for built_in, sentence in known.items():
            typer.echo(f"{built_in:{width}}  {sentence}")
        typer.echo("\nTrain one: regard train NAME. Or copy one and change it: regard recipes NAME > my.toml")
