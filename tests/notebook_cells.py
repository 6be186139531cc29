"""Runs the Python blocks of a page as the cells of one notebook, and shows their results as a notebook would.

What a notebook does with a cell is little: it runs its statements, and asks the value of a last expression for
`_repr_html_` or `_repr_png_`, else for its `repr`. Figures of pyplot are shown at the end of the cell that made them.
"""

import ast
import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Cell:
    """A cell that was run."""

    code: str
    printed: str
    value: Any
    """Of its last expression."""
    shown: str | bytes | None
    """HTML, a picture, or text."""


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_cells(codes: list[str]) -> tuple[list[Cell], dict[str, Any]]:
    """The cells, and the names that they leave behind."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [run_cell(code, names) for code in codes], names


def run_cell(code: str, names: dict[str, Any]) -> Cell:
    """One cell, with the names that those before it left behind."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    return Cell(code, printed.getvalue(), value, _figure() or _shown(value))


def _shown(value: Any) -> str | bytes | None:
    if value is None:
        return None
    for name in ("_repr_html_", "_repr_png_"):
        if hasattr(value, name):
            shown: str | bytes = getattr(value, name)()
            return shown
    return repr(value)


def _figure() -> bytes | None:
    """The figure that pyplot has open, which is closed then."""
    import matplotlib.pyplot as plt

    if not plt.get_fignums():
        return None
    file = io.BytesIO()
    plt.gcf().savefig(file, format="png")
    plt.close("all")
    return file.getvalue()
