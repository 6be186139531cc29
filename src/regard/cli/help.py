"""Help as people read it."""

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup


def _without_types(every: list[Any]) -> list[Any]:
    """The parameters of a command, flags without a type."""
    # The types of click are typer's own in some of its releases, so that none of them can be named here.
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
        """Joins the lines of each paragraph; examples are paragraphs of a line each."""
        self.help = re.sub(r"(?<=\S)\n *(?=\S)", " ", self.help or "")
        super().format_help(ctx, formatter)
