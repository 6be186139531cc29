"""`regard recipes`: the built-in recipes, and every setting."""

from typing import TYPE_CHECKING, Annotated

import typer

from regard.errors import UsageError, one_of

if TYPE_CHECKING:
    from regard.recipe import Setting


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Print this recipe as TOML, with every setting spelled out. With --settings: a setting or a table.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="List every setting with its default, or those of a table.")
    ] = False,
) -> None:
    """List the built-in recipes, print one, or list every setting.

    [bold]Examples[/bold]

      regard recipes

      regard recipes dates > my.toml

      regard recipes --settings | grep dropout

      regard recipes --settings model.transformer
    """
    from regard import recipe

    if settings:
        for setting in _settings_of(name):
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
        typer.echo(
            "\nTrain one: regard train NAME (of word vectors: regard vectors train NAME). Or copy one and change it: "
            "regard recipes NAME > my.toml"
        )


def _settings_of(name: str | None) -> "list[Setting]":
    """Every setting, or those of a table such as `train` or, of one kind, `model.transformer`."""
    from regard.recipe import settings

    every = settings()
    found = [
        setting
        for setting in every
        if name is None or any(f"{each}.".startswith(f"{name}.") for each in _names(setting))
    ]
    if not found:
        known = dict.fromkeys(each.rpartition(".")[0] for setting in every for each in _names(setting) if "." in each)
        raise UsageError(f"{name}: neither a setting nor a table; tables are {one_of(known, str(name))}")
    return found


def _names(setting: "Setting") -> list[str]:
    """The name of a setting, and that with the kind of its table: `model.width`, `model.transformer.width`."""
    table, _, last = setting.name.rpartition(".")
    return [setting.name, *([f"{table}.{setting.only_for}.{last}"] if setting.only_for else [])]
