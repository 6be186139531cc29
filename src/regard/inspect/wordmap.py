"""Maps of words as pictures: PNG, SVG or PDF."""

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.inspect.figure import INK, LINE, PALE, check_picture_name, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from regard.vectors.mapping import WordMap

COLORS = (
    *("#1f6fb4", "#d9541e", "#2a8c4a", "#8b4fb8", "#c7911b", "#c23b6b", "#1b9aa0", "#7a5a3a"),
    *("#5a6b1f", "#3f4fc0", "#a03030", "#4f7f9f"),
)
"""Colors of groups, in order and then from the start."""
INCHES = 11.0
"""Side of the picture."""
SHIFTS = (
    *((4, 0, "left", "center"), (-4, 0, "right", "center"), (0, 4, "center", "bottom"), (0, -4, "center", "top")),
    *((3, 3, "left", "bottom"), (3, -3, "left", "top"), (-3, 3, "right", "bottom"), (-3, -3, "right", "top")),
)
"""Offsets of a name from its point, in the order in which they are tried."""
FARTHER = (1, 2.5, 4)
"""Factors by which the name of a group may be moved farther away where it is crowded."""


def save_map(found: "WordMap", path: str | Path, *, title: str = "") -> None:
    """Draws a map into a file; its suffix (.png, .svg or .pdf) decides the format."""
    check_picture_name(path)
    save_figure(draw_map(found, title=title), path)


def draw_map(found: "WordMap", *, title: str = "") -> "Figure":
    """A point for each word, colored by group; names where there is room, those of groups first."""
    figure = new_figure(figsize=(INCHES, _height(found)), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xticks=[], yticks=[], aspect="equal")
    axes.margins(0.06)
    for side in axes.spines.values():
        side.set_color(LINE)
    _draw_points(axes, found)
    if title:
        axes.set_title(title, loc="left", fontsize=13, color=INK, parse_math=False)
    axes.set_xlabel(found.conditions, loc="left", fontsize=8.5, color=PALE)
    figure.draw_without_rendering()
    _write_names(figure, axes, found)
    return figure


def colors_of(found: "WordMap") -> dict[str, str]:
    """The color of each group, in the order in which they are named."""
    names = [name for name in dict.fromkeys(found.groups) if name]
    return {name: COLORS[place % len(COLORS)] for place, name in enumerate(names)}


def _height(found: "WordMap") -> float:
    wide, high = np.maximum(np.ptp(found.places, axis=0), 0.2)
    return min(INCHES * 1.2, max(INCHES * 0.45, float(INCHES * high / wide))) + 0.6


def _draw_points(axes: "Axes", found: "WordMap") -> None:
    groups = np.array(found.groups)
    across, up = found.places.T
    axes.scatter(across[groups == ""], up[groups == ""], s=7, color=LINE, linewidths=0)
    for name, color in colors_of(found).items():
        axes.scatter(across[groups == name], up[groups == name], s=16, color=color, linewidths=0, label=name)
    if any(found.groups):
        legend = axes.legend(loc="upper left", fontsize=9, frameon=True, labelcolor=INK, borderpad=0.7)
        legend.get_frame().set(edgecolor=LINE, alpha=0.9)
        for text in legend.get_texts():
            text.set_parse_math(False)


def _write_names(figure: "Figure", axes: "Axes", found: "WordMap") -> None:
    from regard.inspect.fonts import families_for, without

    families, missing = families_for(found.words)
    colors, taken = colors_of(found), Taken()
    legend = axes.get_legend()
    if legend is not None:
        taken.add(legend.get_window_extent())
    canvas: Any = figure.canvas
    renderer = canvas.get_renderer()
    for place in _by_importance(found.groups):
        group = found.groups[place]
        look: dict[str, Any] = {"fontsize": 9 if group else 7, "color": colors.get(group, PALE), "family": families}
        for times, (x, y, across, up) in product(FARTHER if group else FARTHER[:1], SHIFTS):
            name = axes.annotate(
                without(found.words[place], missing),
                found.places[place],
                (x * times, y * times),
                textcoords="offset points",
                ha=across,
                va=up,
                parse_math=False,
                annotation_clip=False,
                **look,
            )
            if taken.add_if_free(name.get_window_extent(renderer)):
                break
            name.remove()


def _by_importance(groups: Sequence[str]) -> Iterable[int]:
    """Places of words of groups, then of the others, each in their order."""
    return sorted(range(len(groups)), key=lambda place: groups[place] == "")


class Taken:
    """Occupied boxes of a picture."""

    def __init__(self) -> None:
        self._boxes = np.empty((0, 4))

    def add(self, box: "Bbox") -> None:
        """Takes a box, occupied or not."""
        self._boxes = np.vstack([self._boxes, [*box.min, *box.max]])

    def add_if_free(self, box: "Bbox") -> bool:
        """Takes a box if it is free; returns whether it was."""
        (left, low), (right, high) = box.min, box.max
        others = self._boxes
        apart = (others[:, 0] > right) | (others[:, 2] < left) | (others[:, 1] > high) | (others[:, 3] < low)
        if apart.all():
            self.add(box)
            return True
        return False
