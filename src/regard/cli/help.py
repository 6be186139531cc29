"""Help with plain flags and filled paragraphs."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup


def _without_types(every: list[Any]) -> list[Any]:
    """The parameters of a command, flags without a type."""
    # Some releases of typer have their own copy of click, so its types cannot be named here.
    for each in every:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return every


class PlainGroup(TyperGroup):
    """A group of commands whose flags are shown without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class PlainHelp(TyperCommand):
    """A command whose flags are shown without a type, and whose paragraphs fill the width of the terminal."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Joins the lines of each paragraph; each example is a paragraph."""
        self.help = re.sub(r"(?<=\S)\n *(?=\S)", " ", self.help or "")
        super().format_help(ctx, formatter)
