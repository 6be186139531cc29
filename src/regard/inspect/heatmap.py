"""Inspections as heat maps: PNG, SVG or PDF.

Importing matplotlib takes half a second, so it is imported where something is drawn; and of its global state (pyplot,
rcParams) nothing is read or changed but the list of fonts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.inspect.figure import GOLD, INK, PALE, check_picture_name, new_figure, save_figure
from regard.inspect.inspection import Inspection
from regard.inspect.panel import Panel, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

SHADES = ("#ffffff", "#dce9f6", "#a6cae6", "#5b9fd0", "#2470ae", "#0d3f7d", "#0a2450")
NEGATIVE = ("#5c1d06", "#a63a12", "#d9662f", "#f0a079", "#fbdccb")
"""Shades of numbers below zero, the least first."""
WIDEST = 13.0
"""Inches after which panels wrap to the next row."""
GAP = 0.35
"""Inches between panels and around them."""
TITLE = 60
"""Characters after which a title wraps to the next line."""
LEGEND = 5.4
"""Inches that the line below the panels needs."""
LETTER = 0.075
"""Inches of a letter in a cell."""


@dataclass(frozen=True)
class DrawnPanel:
    """A panel with its title, its scale and the inches of its cells."""

    panel: Panel
    title: str
    largest: float

    @property
    def least(self) -> float:
        return -self.largest if self.panel.signed else 0.0

    @property
    def cell(self) -> tuple[float, float]:
        """Width and height of a cell: smaller where there are many, so that a long sentence still fits a screen, and
        wide enough for its text."""
        texts, named = self.panel.texts, self.panel.axes[1] not in ("feature", "")
        count = max(len(self.panel.rows), len(self.panel.columns) if named and texts is None else 1, 1)
        high = max(0.09, min(0.3, 11.0 / count))
        if texts is not None:
            return max(high, LETTER * (1 + max((len(str(text)) for text in texts.flat), default=0))), high
        return (high if named else min(0.3, 11.0 / max(len(self.panel.columns), 1))), high

    @property
    def inches(self) -> tuple[float, float]:
        return max(len(self.panel.columns), 1) * self.cell[0], max(len(self.panel.rows), 1) * self.cell[1]


def save_pictures(
    inspections: Sequence[Inspection], path: str | Path, *, show: str | None = None, head: int | None = None
) -> None:
    """Draws inspections side by side into one file; its suffix (.png, .svg or .pdf) decides the format."""
    check_picture_name(path)
    save_figure(draw(inspections, show=show, head=head), path)


def draw(inspections: Sequence[Inspection], *, show: str | None = None, head: int | None = None) -> "Figure":
    """The panels of inspections side by side as one figure; a darker cell is more, orange is below zero.

    Panels with the same axes share one scale, from 0 to the largest value. Columns that are written from right to left
    run from right to left.
    """
    drawn = _scaled([(one, panel) for one in inspections for panel in panels(one, show, head)])
    if not drawn:
        raise UsageError("there is nothing to draw; give at least one inspection")
    from regard.inspect.fonts import families_for, without

    texts = [str(text) for each in drawn if each.panel.texts is not None for text in each.panel.texts.flat]
    labels = [label for each in drawn for label in (*each.panel.rows, *each.panel.columns, each.title)]
    families, missing = families_for([*labels, *texts])
    figure = new_figure(figsize=(WIDEST, WIDEST))
    axes = [_panel(figure, each, families, missing) for each in drawn]
    for axis, each in zip(axes, drawn, strict=True):
        _write_labels(axis, each, families, missing)
        title = "\n".join(fill(without(line, missing), TITLE) for line in each.title.split("\n"))
        axis.set_title(title, loc="left", fontsize=9.5, color=INK, pad=10, family=families, parse_math=False)
    _arrange(figure, axes, drawn)
    _legend(figure, drawn)
    return figure


def _scaled(found: list[tuple[Inspection, Panel]]) -> list[DrawnPanel]:
    """Each panel on the scale of those with the same axes, and with its title: over the first panel the title and note
    of the inspection, and its own name if there are several."""
    largest: dict[object, float] = {}
    for _, panel in found:
        largest[panel.axes] = max(largest.get(panel.axes, 0.0), panel.largest)
    several = len(found) > len({id(one) for one, _ in found})
    alike = len({panel.meaning for _, panel in found}) == 1  # otherwise the legend cannot name them
    drawn: list[DrawnPanel] = []
    for place, (one, panel) in enumerate(found):
        first = not place or found[place - 1][0] is not one
        lines = [line for line in (one.heading, one.note) if line] if first else []
        if several and panel.axes[1]:  # a single column has its name above it
            lines.append(panel.name if alike else f"{panel.name} ({panel.meaning})")
        drawn.append(DrawnPanel(panel, "\n".join(lines), largest[panel.axes]))
    return drawn


def _shades(signed: bool) -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", (*NEGATIVE, *SHADES) if signed else SHADES)


def _panel(figure: "Figure", drawn: DrawnPanel, families: list[str], missing: set[str]) -> "Axes":
    from matplotlib.patches import Rectangle

    panel, shown = figure.add_axes((0.0, 0.0, 0.1, 0.1)), drawn.panel
    if shown.values.size:
        shades, line = _shades(shown.signed), 0.5 if drawn.cell[0] > 0.05 else 0.0
        panel.pcolormesh(
            shown.values, cmap=shades, vmin=drawn.least, vmax=drawn.largest, edgecolors="#eef1f4", linewidth=line
        )
    panel.set_xlim(0, max(len(shown.columns), 1))
    panel.set_ylim(max(len(shown.rows), 1), 0)
    if shown.leftward:
        panel.invert_xaxis()
    for source, target in sorted(shown.gold):
        frame = Rectangle((source + 0.08, target + 0.08), 0.84, 0.84, fill=False, edgecolor=GOLD, linewidth=1.3)
        panel.add_patch(frame)
    if shown.texts is not None:
        _write_texts(panel, drawn, families, missing)
    for side in panel.spines.values():
        side.set_edgecolor("#c5ced6")
        side.set_linewidth(0.6)
    return panel


def _write_texts(panel: "Axes", drawn: DrawnPanel, families: list[str], missing: set[str]) -> None:
    """The text of the cells, light on dark ones."""
    from regard.inspect.fonts import without

    shown, size = drawn.panel, min(8.0, drawn.cell[1] * 72 * 0.45)
    assert shown.texts is not None
    for row, column in product(*map(range, shown.texts.shape)):
        dark = abs(shown.values[row, column]) > 0.55 * drawn.largest
        text = without(str(shown.texts[row, column]), missing)
        written = panel.text(column + 0.5, row + 0.5, text, fontsize=size, color="white" if dark else INK)
        written.set(ha="center", va="center", family=families, parse_math=False)


def _write_labels(panel: "Axes", drawn: DrawnPanel, families: list[str], missing: set[str]) -> None:
    from regard.inspect.fonts import without

    size = min(10.0, drawn.cell[1] * 72 * 0.48)
    columns, rows = ([without(label, missing) for label in side] for side in (drawn.panel.columns, drawn.panel.rows))
    panel.xaxis.tick_top()
    panel.set_xticks([place + 0.5 for place in range(len(columns))])
    panel.set_yticks([place + 0.5 for place in range(len(rows))])
    # Labels are plain text: a dollar sign does not start mathematics.
    panel.set_xticklabels(columns, fontsize=size, color=INK, family=families, parse_math=False)
    panel.set_yticklabels(rows, fontsize=size, color=INK, family=families, parse_math=False)
    panel.tick_params(length=0, pad=3)
    for label, text in zip(panel.get_xticklabels(), columns, strict=True):
        if len(text) > 2 and drawn.cell[0] < 1.6 * LETTER * len(text):  # too wide for its cell
            label.set(rotation=55, ha="left", va="bottom", rotation_mode="anchor")


def _arrange(figure: "Figure", axes: Sequence["Axes"], drawn: Sequence[DrawnPanel]) -> None:
    """Gives every panel the inches that its cells and labels need, in rows from left to right, and the figure theirs.

    Labels are measured at the panel's initial position; their size does not depend on it.
    """
    places: list[tuple[float, float, float, float]] = []
    left, top, tallest, widest = GAP, GAP, 0.0, 0.0
    for panel, each in zip(axes, drawn, strict=True):
        width, height = each.inches
        panel.set_position((0.3, 0.3, width / WIDEST, height / WIDEST))
        inside = panel.get_window_extent()
        outside = panel.get_tightbbox() or inside
        before, after = (inside.x0 - outside.x0) / figure.dpi, (outside.x1 - inside.x1) / figure.dpi
        above, below = (outside.y1 - inside.y1) / figure.dpi, (inside.y0 - outside.y0) / figure.dpi
        if left > GAP and left + before + width + after > WIDEST:
            left, top, tallest = GAP, top + tallest + GAP, 0.0
        places.append((left + before, top + above, width, height))
        left += before + width + after + GAP
        tallest, widest = max(tallest, above + height + below), max(widest, left)
    wide, high = max(widest, LEGEND), top + tallest + 2 * GAP
    figure.set_size_inches(wide, high)
    for panel, (left, top, width, height) in zip(axes, places, strict=True):
        panel.set_position((left / wide, (high - top - height) / high, width / wide, height / high))


def _legend(figure: "Figure", drawn: Sequence[DrawnPanel]) -> None:
    """One line below the panels: what rows, columns, shades and frames are."""
    wide, high = figure.get_size_inches()
    middle, signed = 0.25, any(each.panel.signed for each in drawn)
    ends = sorted({(each.least, each.largest) for each in drawn})
    least, largest = (f"{ends[0][0]:.2g}", f"{ends[0][1]:.2f}") if len(ends) == 1 else ("least", "largest")
    bar = figure.add_axes(((GAP + 0.42) / wide, (middle - 0.05) / high, 0.8 / wide, 0.1 / high))
    bar.imshow([[step / 63 for step in range(64)]], cmap=_shades(signed), aspect="auto")
    bar.set_axis_off()
    meanings = list(dict.fromkeys(each.panel.meaning for each in drawn))
    texts = [(0.37, least, PALE), (1.27, largest, PALE)]
    if len(meanings) == 1:
        texts.append((1.85, meanings[0], PALE))
    if any(each.panel.gold for each in drawn):
        texts.append((3.95, "frame: true link", GOLD))
    for left, words, color in texts:
        side = "right" if left < 0.4 else "left"
        figure.text((GAP + left) / wide, middle / high, words, fontsize=8, color=color, va="center", ha=side)
