"""An inspection as a small picture in the terminal.

Rows and columns are those of every picture. A column is two cells wide, so that a wide character fits above it, and
longer labels are written vertically, one character below the other. Columns beyond the width wrap to another band.
Candidates and single numbers are a table.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Literal
from unicodedata import category, combining

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.inspect.inspection import Inspection
from regard.inspect.panel import Panel, panels

PictureStyle = Literal["color", "shades", "ascii"]
SHADES: dict[PictureStyle, str] = {"color": " ", "shades": " ░▒▓█", "ascii": " .:-=+*#%@"}
NEGATIVE: dict[PictureStyle, str] = {"color": " ", "shades": " ·-=≡", "ascii": " abcdefghi"}
"""Shades of numbers below zero."""
EMPTY, FULL, BELOW = (245, 247, 250), (9, 54, 125), (166, 58, 18)
"""Colors of zero, of the largest and of the least value; labels are outside the cells, so no text is drawn on these
colors."""
COLUMN = 2


def print_inspection(
    inspection: Inspection, console: Console | None = None, *, show: str | None = None, head: int | None = None
) -> None:
    """Prints the picture: in color on a terminal that has it, else in block characters, else in ASCII."""
    console = console or Console()
    style: PictureStyle = "shades" if console.encoding.lower().startswith("utf") else "ascii"
    if console.is_terminal and console.color_system in {"256", "truecolor"} and style == "shades":
        style = "color"
    picture = terminal_picture(inspection, show=show, head=head, width=console.width, style=style)
    console.print(picture, soft_wrap=True, highlight=False)


def terminal_picture(
    inspection: Inspection,
    *,
    show: str | None = None,
    head: int | None = None,
    width: int = 80,
    style: PictureStyle = "shades",
) -> Text:
    """The picture as rich text; `str(picture)` is what is printed without color. Darker is more."""
    found = panels(inspection, show, head)
    blocks = [Text(_written(inspection.heading, style), style="bold")] if inspection.heading else []
    tables = groupby(found, key=lambda panel: panel.rows if panel.texts is not None else panel.name)
    groups = [list(group) for _, group in tables]
    for place, group in enumerate(groups):
        names = show is not None or len(groups) > 1
        blocks += [Text()] if place else []
        if group[0].texts is not None:
            blocks += _table(group, style)
        else:
            blocks += [Text(_written(f"{group[0].name} ({group[0].meaning})", style), style="dim")] if names else []
            blocks += _matrix(group[0], width, style)
    return Text("\n").join(blocks)


def _matrix(panel: Panel, width: int, style: PictureStyle) -> list[Text]:
    columns, rows = ([_written(label, style) for label in side] for side in (panel.columns, panel.rows))
    margin = max(map(cell_len, rows), default=0) + 1
    count = max(1, (width - margin) // COLUMN)
    shares = np.nan_to_num(panel.values / panel.largest, posinf=1.0, neginf=-1.0)
    lines: list[Text] = []
    for first in range(0, max(len(columns), 1), count):
        band = slice(first, first + count)
        lines += [Text()] if first else []
        lines += [Text(" " * margin + line) for line in _upright(columns[band])]
        for label, row in zip(rows, shares[:, band], strict=True):
            line = Text(" " * (margin - 1 - cell_len(label)) + label + " ") + _cells(row, style)
            if style != "color":  # in color, trailing spaces are cells
                line.rstrip()
            lines.append(line)
    return lines


def _table(group: Sequence[Panel], style: PictureStyle) -> list[Text]:
    """Panels of texts with the same rows side by side: a line for each row, with the number beside each text."""
    rows = [_written(label, style) for label in group[0].rows]
    columns: list[tuple[str, list[str]]] = []
    for panel in group:
        assert panel.texts is not None
        for place in range(len(panel.columns)):
            cells = [_written(text, style) for text in panel.texts[:, place]]
            columns.append(("" if place else panel.name.rpartition(".")[2], cells))
    margin = max(map(cell_len, rows), default=0)
    lines = [" " * margin] + [" " * (margin - cell_len(label)) + label for label in rows]
    for name, cells in columns:
        wide = max(map(cell_len, (name, *cells)))
        for place, cell in enumerate((name, *cells)):
            lines[place] += f"  {cell}{' ' * (wide - cell_len(cell))}"
    return [Text(line.rstrip(), style="dim" if place == 0 else "") for place, line in enumerate(lines)]


def _cells(row: Float[np.ndarray, " S"], style: PictureStyle) -> Text:
    cells = Text()
    for share in row.tolist():
        shades = SHADES[style] if share >= 0 else NEGATIVE[style]
        shade = shades[min(int(abs(share) * len(shades)), len(shades) - 1)] * COLUMN
        cells.append(shade, Style(bgcolor=_color(share)) if style == "color" else None)
    return cells


def _color(share: float) -> str:
    end = FULL if share >= 0 else BELOW
    red, green, blue = (round(empty + (full - empty) * abs(share)) for empty, full in zip(EMPTY, end, strict=True))
    return f"rgb({red},{green},{blue})"


def _upright(labels: list[str]) -> list[str]:
    """The lines of a head in which every label runs downwards and ends above its column."""
    columns = [_characters(label) for label in labels]
    height = max(map(len, columns), default=0)
    padded = [[""] * (height - len(column)) + column for column in columns]
    return ["".join(_fill(column[line]) for column in padded).rstrip() for line in range(height)]


def _characters(label: str) -> list[str]:
    """Grapheme clusters: each letter with its combining marks. None is wider than a column."""
    characters: list[str] = []
    for character in label:
        if characters and (combining(character) or category(character) in {"Mn", "Mc", "Me", "Cf"}):
            characters[-1] += character
        else:
            characters.append(character)
    return characters


def _fill(character: str) -> str:
    return character + " " * max(0, COLUMN - cell_len(character))


def _written(label: str, style: PictureStyle) -> str:
    """The label; for ASCII consoles, with `_` for a space and `?` for other characters."""
    if style != "ascii":
        return label
    return label.replace("␣", "_").encode("ascii", "replace").decode("ascii")
