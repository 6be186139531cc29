"""Quality by the length of the source as a picture: BLEU and chrF above, how many lines there are below."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.inspect.figure import GOLD, INK, LINE, PALE, check_picture_name, new_figure, save_figure
from regard.metrics import LengthQuality, MetricScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#2470ae", GOLD)
"""Of a system and of one it is compared with."""
NAME = 60
"""Characters of a system's name that fit into the picture."""
METRICS = ("bleu", "chrf")

Systems = Mapping[str, Sequence[LengthQuality]]
"""The buckets of one system, or of two on the same text, by name."""


def save_lengths(systems: Systems, path: str | Path) -> None:
    """Draws one system, or two on the same text, into a file; its suffix (.png, .svg or .pdf) decides the format."""
    check_picture_name(path)
    save_figure(draw_lengths(systems), path)


def draw_lengths(systems: Systems) -> "Figure":
    """A panel for each metric, points with their 95 % intervals where they are known; and the number of lines of each
    bucket, because the score of a few lines says little."""
    if not systems or not all(systems.values()):
        raise UsageError("there is nothing to draw; give at least one system with at least one line")
    buckets = next(iter(systems.values()))
    figure = new_figure(figsize=(max(5.2, 1.6 + 0.62 * len(buckets)), 5.6), layout="constrained")
    *panels, below = figure.subplots(3, 1, sharex=True, height_ratios=[3, 3, 1.2])
    for panel, metric in zip(panels, METRICS, strict=True):
        for number, qualities in enumerate(systems.values()):
            _draw_scores(panel, [getattr(quality, metric) for quality in qualities], number, len(systems))
        panel.tick_params(axis="x", length=0)
    _draw_counts(below, buckets)
    for panel in (*panels, below):
        _tidy(panel)
    below.set_yticks([])
    figure.align_ylabels()
    _write_heading(panels[0], list(systems), buckets[0].bleu.margin is not None)
    return figure


def _draw_scores(panel: "Axes", scores: Sequence[MetricScore], number: int, systems: int) -> None:
    # Two systems are drawn side by side, so that their intervals do not overlap.
    places = [place + (number - (systems - 1) / 2) * 0.14 for place in range(len(scores))]
    values = [score.value for score in scores]
    color = COLORS[number]
    panel.plot(places, values, "o-", color=color, markersize=5, linewidth=1.6, zorder=3)
    if systems == 1:
        for place, value in zip(places, values, strict=True):
            panel.annotate(f"{value:.1f}", (place, value), (6, 5), textcoords="offset points", fontsize=8, color=INK)
    if all(score.margin is not None for score in scores):
        margins = [score.margin or 0.0 for score in scores]
        # Neither BLEU nor chrF goes below 0 or above 100, but for rounding.
        reach = [
            [min(margin, value) for margin, value in zip(margins, values, strict=True)],
            [max(min(margin, 100 - value), 0.0) for margin, value in zip(margins, values, strict=True)],
        ]
        panel.errorbar(places, values, yerr=reach, fmt="none", ecolor=color, alpha=0.45, elinewidth=2.4, zorder=2)
    panel.set_ylabel(scores[0].name, color=INK, fontsize=9.5)


def _draw_counts(panel: "Axes", buckets: Sequence[LengthQuality]) -> None:
    counts = [bucket.lines for bucket in buckets]
    bars = panel.bar(range(len(buckets)), counts, width=0.62, color=LINE)
    panel.bar_label(bars, [f"{count:,}" for count in counts], fontsize=8, color=PALE, padding=2)
    panel.set_ylim(0, max(counts) * 1.35)
    panel.set_ylabel("lines", color=INK, fontsize=9.5)
    panel.set_xticks(range(len(buckets)), [bucket.label for bucket in buckets])
    panel.set_xlim(-0.6, len(buckets) - 0.4)
    panel.set_xlabel(f"{buckets[0].unit} of the source", color=INK, fontsize=9.5)


def _tidy(panel: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_edgecolor(LINE)
    panel.tick_params(color=LINE, labelcolor=INK, labelsize=8.5)
    panel.grid(axis="y", color="#eef1f4", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.yaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))


def _write_heading(panel: "Axes", names: Sequence[str], margins: bool) -> None:
    """Above the first panel: what is drawn, and which color is which system."""
    from regard.inspect.fonts import families_for, without

    lines = [("Quality by length of the source", INK, 11.0)]
    lines += [(f"● {_shortened(name)}", COLORS[number], 8.5) for number, name in enumerate(names)]
    if margins:
        lines.append(("vertical lines: 95 % intervals", PALE, 8.0))
    families, missing = families_for(text for text, _, _ in lines)
    for number, (text, color, size) in enumerate(reversed(lines)):
        panel.annotate(
            without(text, missing),
            (0.0, 1.0),
            (0, 8 + 13 * number),
            xycoords="axes fraction",
            textcoords="offset points",
            color=color,
            fontsize=size,
            family=families,
            parse_math=False,
        )


def _shortened(name: str) -> str:
    return name if len(name) <= NAME else "…" + name[1 - NAME :]
