"""A look as a small picture in the terminal.

Rows are written, columns read, as everywhere; a column is two cells wide, so that a wide character fits above it, and
longer labels stand upright, one character below the other. Sources too long for the width go on in another band.
"""

from typing import Literal
from unicodedata import category, combining

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.inspect.look import Look, readable

PictureStyle = Literal["color", "shades", "ascii"]
SHADES: dict[PictureStyle, str] = {"color": " ", "shades": " ░▒▓█", "ascii": " .:-=+*#%@"}
EMPTY, FULL = (245, 247, 250), (9, 54, 125)
"""Colors of no weight and of all weight; labels stand outside of the cells, so no color must be read upon."""
COLUMN = 2


def print_look(
    look: Look, console: Console | None = None, *, layer: str | None = None, head: int | None = None
) -> None:
    """Prints the picture: in color on a terminal that has it, else in block characters, else in ASCII."""
    console = console or Console()
    style: PictureStyle = "shades" if console.encoding.lower().startswith("utf") else "ascii"
    if console.is_terminal and console.color_system in {"256", "truecolor"} and style == "shades":
        style = "color"
    picture = terminal_picture(look, layer=layer, head=head, width=console.width, style=style)
    console.print(picture, soft_wrap=True, highlight=False)


def terminal_picture(
    look: Look,
    *,
    layer: str | None = None,
    head: int | None = None,
    width: int = 80,
    style: PictureStyle = "shades",
) -> Text:
    """The picture as rich text; `str(picture)` is what is printed without color. Darker is more weight."""
    sources, targets = ([_written(readable(label), style) for label in side] for side in (look.source, look.target))
    margin = max(map(cell_len, targets), default=0) + 1
    columns = max(1, (width - margin) // COLUMN)
    matrix = look.matrix(layer, head)
    shares = matrix / (matrix.max(initial=0.0) or 1.0)
    lines = [Text(_written(look.heading, style), style="bold")] if look.heading else []
    for first in range(0, max(len(sources), 1), columns):
        band = slice(first, first + columns)
        lines += [Text()] if first else []
        lines += [Text(" " * margin + line) for line in _upright(sources[band])]
        for label, row in zip(targets, shares[:, band], strict=True):
            line = Text(" " * (margin - 1 - cell_len(label)) + label + " ") + _cells(row, style)
            if style != "color":  # there, spaces at the end are cells
                line.rstrip()
            lines.append(line)
    return Text("\n").join(lines)


def _cells(row: Float[np.ndarray, " S"], style: PictureStyle) -> Text:
    shades = SHADES[style]
    cells = Text()
    for share in row.tolist():
        shade = shades[min(int(share * len(shades)), len(shades) - 1)] * COLUMN
        cells.append(shade, Style(bgcolor=_color(share)) if style == "color" else None)
    return cells


def _color(share: float) -> str:
    red, green, blue = (round(empty + (full - empty) * share) for empty, full in zip(EMPTY, FULL, strict=True))
    return f"rgb({red},{green},{blue})"


def _upright(labels: list[str]) -> list[str]:
    """The lines of a head in which every label runs downwards and ends above its column."""
    columns = [_characters(label) for label in labels]
    height = max(map(len, columns), default=0)
    padded = [[""] * (height - len(column)) + column for column in columns]
    return ["".join(_fill(column[line]) for column in padded).rstrip() for line in range(height)]


def _characters(label: str) -> list[str]:
    """What a reader takes for characters: a letter with the marks that belong to it. None is wider than a column."""
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
    """The label; for consoles that can write nothing but ASCII, with `_` for a space and `?` for all the rest."""
    if style != "ascii":
        return label
    return label.replace("␣", "_").encode("ascii", "replace").decode("ascii")
