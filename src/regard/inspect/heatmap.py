"""Looks as heat maps: PNG, SVG or PDF.

Importing matplotlib costs half a second, so it is imported by those who draw, when they draw; and no state of it that
others might share (pyplot, rcParams) is read or changed but its list of fonts.
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.inspect.figure import GOLD, INK, PALE, check_picture_name, save_figure
from regard.inspect.look import Look, readable, runs_right_to_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

SHADES = ("#ffffff", "#dce9f6", "#a6cae6", "#5b9fd0", "#2470ae", "#0d3f7d", "#0a2450")
WIDEST = 13.0
"""Inches after which panels go on in the next row."""
GAP = 0.35
"""Inches between panels and around them."""
TITLE = 60
"""Characters after which a title goes on in the next line."""
LEGEND = 5.4
"""Inches that the line below the panels needs."""


def save_picture(look: Look, path: Path, *, layer: str | None = None, head: int | None = None) -> None:
    """Draws one look into a file; its suffix (.png, .svg or .pdf) decides the format."""
    save_pictures([look], path, layer=layer, head=head)


def save_pictures(looks: Sequence[Look], path: Path, *, layer: str | None = None, head: int | None = None) -> None:
    """Draws several looks side by side into one file, all to the same scale."""
    check_picture_name(path)
    save_figure(draw(looks, layer=layer, head=head), path)


def draw(looks: Sequence[Look], *, layer: str | None = None, head: int | None = None) -> "Figure":
    """Looks side by side as one figure: rows are written, columns read, and a darker cell is more weight.

    All panels share one scale, from 0 to the largest weight. Columns of a source that is written from right to left
    run from right to left.
    """
    if not looks:
        raise UsageError("there is nothing to draw; give at least one look")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from regard.inspect.fonts import families_for, without

    labels = [readable(label) for look in looks for label in (*look.source, *look.target)]
    families, missing = families_for([*labels, *(look.heading for look in looks)])
    largest = max(float(look.matrix(layer, head).max(initial=0.0)) for look in looks) or 1.0
    figure = Figure(figsize=(WIDEST, WIDEST), dpi=160, facecolor="white")
    FigureCanvasAgg(figure)
    panels = [_panel(figure, look, layer, head, largest) for look in looks]
    for panel, look in zip(panels, looks, strict=True):
        _write_labels(panel, look, families, missing)
        title = fill(without(look.heading, missing), TITLE)
        panel.set_title(title, loc="left", fontsize=9.5, color=INK, pad=10, family=families, parse_math=False)
    _arrange(figure, panels, looks)
    _legend(figure, largest, any(look.gold for look in looks))
    return figure


def _cell(look: Look) -> float:
    """Inches of a cell: smaller where there are many, so that a long sentence still fits a screen."""
    return max(0.09, min(0.3, 11.0 / max(len(look.source), len(look.target), 1)))


def _shades() -> "Colormap":
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", SHADES)


def _panel(figure: "Figure", look: Look, layer: str | None, head: int | None, largest: float) -> "Axes":
    from matplotlib.patches import Rectangle

    panel = figure.add_axes((0.0, 0.0, 0.1, 0.1))
    matrix = look.matrix(layer, head)
    if matrix.size:
        panel.pcolormesh(matrix, cmap=_shades(), vmin=0.0, vmax=largest, edgecolors="#eef1f4", linewidth=0.5)
    panel.set_xlim(0, max(len(look.source), 1))
    panel.set_ylim(max(len(look.target), 1), 0)
    if runs_right_to_left(look.source):
        panel.invert_xaxis()
    for source, target in sorted(look.gold or ()):
        frame = Rectangle((source + 0.08, target + 0.08), 0.84, 0.84, fill=False, edgecolor=GOLD, linewidth=1.3)
        panel.add_patch(frame)
    for side in panel.spines.values():
        side.set_edgecolor("#c5ced6")
        side.set_linewidth(0.6)
    return panel


def _write_labels(panel: "Axes", look: Look, families: list[str], missing: set[str]) -> None:
    from regard.inspect.fonts import without

    size = min(10.0, _cell(look) * 72 * 0.48)
    sources, targets = ([without(readable(label), missing) for label in side] for side in (look.source, look.target))
    panel.xaxis.tick_top()
    panel.set_xticks([place + 0.5 for place in range(len(sources))])
    panel.set_yticks([place + 0.5 for place in range(len(targets))])
    # Labels are text: a dollar sign in one is no mathematics.
    panel.set_xticklabels(sources, fontsize=size, color=INK, family=families, parse_math=False)
    panel.set_yticklabels(targets, fontsize=size, color=INK, family=families, parse_math=False)
    panel.tick_params(length=0, pad=3)
    for label, text in zip(panel.get_xticklabels(), sources, strict=True):
        if len(text) > 2:  # too wide for its cell
            label.set(rotation=55, ha="left", va="bottom", rotation_mode="anchor")


def _arrange(figure: "Figure", panels: Sequence["Axes"], looks: Sequence[Look]) -> None:
    """Gives every panel the inches that its cells and labels need, in rows from left to right, and the figure theirs.

    Labels are measured where the panel stands first; they are as large wherever it stands.
    """
    places: list[tuple[float, float, float, float]] = []
    left, top, tallest, widest = GAP, GAP, 0.0, 0.0
    for panel, look in zip(panels, looks, strict=True):
        width, height = (max(len(side), 1) * _cell(look) for side in (look.source, look.target))
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
    for panel, (left, top, width, height) in zip(panels, places, strict=True):
        panel.set_position((left / wide, (high - top - height) / high, width / wide, height / high))


def _legend(figure: "Figure", largest: float, gold: bool) -> None:
    """One line below the panels: what rows, columns, shades and frames are."""
    wide, high = figure.get_size_inches()
    middle = 0.25
    bar = figure.add_axes(((GAP + 0.58) / wide, (middle - 0.05) / high, 0.8 / wide, 0.1 / high))
    bar.imshow([[step / 63 for step in range(64)]], cmap=_shades(), aspect="auto")
    bar.set_axis_off()
    texts = [(0.0, "weight 0", PALE), (1.44, f"{largest:.2f}", PALE), (1.95, "rows: written, columns: read", PALE)]
    if gold:
        texts.append((3.75, "frame: true link", GOLD))
    for left, words, color in texts:
        figure.text((GAP + left) / wide, middle / high, words, fontsize=8, color=color, va="center")
