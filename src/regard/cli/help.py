"""Help as people read it."""

import re
from typing import Any

from typer.core import TyperCommand


class PlainHelp(TyperCommand):
    """A command whose flags are shown without a type, and whose paragraphs fill the width of the terminal."""

    # The types of click are typer's own in some of its releases, so that none of them can be named here.
    def get_params(self, ctx: Any) -> list[Any]:
        every: list[Any] = super().get_params(ctx)
        for each in every:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return every

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Joins the lines of each paragraph; examples are paragraphs of a line each."""
        self.help = re.sub(r"(?<=\S)\n *(?=\S)", " ", self.help or "")
        super().format_help(ctx, formatter)
