"""Maps of words as one HTML file that fetches nothing, to zoom, pan, point at and search in."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.inspect.figure import write_text
from regard.inspect.page import assembled
from regard.inspect.wordmap import colors_of

if TYPE_CHECKING:
    from regard.vectors.mapping import WordMap

DIGITS = 4
"""Decimals of places, which run from −1 to 1."""


def save_map_page(found: "WordMap", path: str | Path, *, title: str = "A map of words") -> None:
    """Writes the page into a file."""
    write_text(map_page(found, title=title), path)


def map_page(found: "WordMap", *, title: str = "A map of words") -> str:
    """The page: points on a canvas, names where there is room, the nearest words of the one that is pointed at."""
    colors = colors_of(found)
    data = {
        "conditions": found.conditions,
        "words": list(found.words),
        "places": found.places.round(DIGITS).tolist(),
        "neighbors": [list(near) for near in found.neighbors],
        "groups": [{"name": name, "color": color} for name, color in colors.items()],
        "of": [list(colors).index(group) if group else -1 for group in found.groups],
    }
    return assembled("wordmap", title, data)
