"""Whether attention explains outputs, over many examples: a table, a picture, JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from regard.errors import counted
from regard.inspect.faithful import CHANGES, LEAST, REMOVED, Faithfulness
from regard.inspect.figure import INK, LINE, PALE, check_picture_name, new_figure, save_figure
from regard.metrics.resampling import interval_of_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOR = "#2470ae"


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure over all examples."""

    name: str
    values: Float[np.ndarray, " n"]
    """NaN for an example without one."""

    @property
    def known(self) -> Float[np.ndarray, " n"]:
        known: Float[np.ndarray, " n"] = self.values[~np.isnan(self.values)]
        return known

    @property
    def mean(self) -> float:
        return float(self.known.mean()) if len(self.known) else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, by bootstrap over examples."""
        return interval_of_mean(self.known, np.ones(len(self.known))) if len(self.known) > 1 else None

    def plain(self) -> dict[str, Any]:
        interval = self.interval
        return {
            "mean": None if math.isnan(self.mean) else self.mean,
            "interval": None if interval is None else list(interval),
            "examples": len(self.known),
        }


@dataclass(frozen=True, eq=False)
class FaithfulnessSummary:
    """The numbers of all examples, measure by measure."""

    every: Sequence[Faithfulness]

    @property
    def measures(self) -> list[Measured]:
        columns = {
            "different weights, same output (share)": [
                math.nan if math.isnan(found.divergence) else float(found.is_refuted) for found in self.every
            ],
            "divergence of the most different weights": [found.divergence for found in self.every],
            **{f"output changed by {change} weights": self._each("variations", change) for change in CHANGES[1:]},
            **{f"probability lost without {some} words": self._each("drops", some) for some in REMOVED},
            **{f"τ of weights and {measure}": self._each("correlations", measure) for measure in self._compared},
        }
        return [Measured(name, np.array(values, dtype=np.float64)) for name, values in columns.items()]

    def _each(self, numbers: str, name: str) -> list[float]:
        return [getattr(found, numbers)[name] for found in self.every]

    @property
    def _compared(self) -> tuple[str, ...]:
        return self.every[0].labels["measure"]

    @property
    def sentence(self) -> str:
        told = self.measures[0].known
        return (
            f"In {told.sum():.0f} of {counted(len(told), 'example')}, weights different by {LEAST} or more "
            "(Jensen–Shannon divergence) leave the output as it was."
        )

    def rows(self) -> list[list[str]]:
        """A table, its heading first."""
        rows = [["", "mean", "95 % interval", "examples"]]
        for each in self.measures:
            interval = each.interval
            between = "–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
            mean = "–" if math.isnan(each.mean) else f"{each.mean:.3f}"
            rows.append([each.name, mean, between, str(len(each.known))])
        return rows

    def plain(self) -> dict[str, Any]:
        return {"sentence": self.sentence, "measures": {each.name: each.plain() for each in self.measures}}

    def save(self, path: str | Path) -> None:
        """Draws it into a file, whose suffix (.png, .svg or .pdf) decides the format."""
        check_picture_name(path)
        save_figure(self.draw(), path)

    def draw(self) -> "Figure":
        """A line for each measure: a point for every example, and the mean with its interval."""
        measures = self.measures[1:]  # a share has no value per example
        figure = new_figure(figsize=(8.4, 0.9 + 0.42 * len(measures)), layout="constrained")
        panel = figure.subplots()
        spread = np.random.default_rng(0)
        for place, each in enumerate(measures):
            heights = place + spread.uniform(-0.2, 0.2, len(each.known))
            panel.plot(each.known, heights, "o", color=COLOR, alpha=0.35, markersize=4, markeredgewidth=0)
            if len(each.known):
                panel.plot([each.mean], [place], "d", color=INK, markersize=6, zorder=3)
            if each.interval is not None:
                panel.plot(each.interval, [place, place], color=INK, linewidth=1.6, zorder=3)
        panel.set_yticks(range(len(measures)), [each.name for each in measures])
        panel.set_ylim(len(measures) - 0.5, -0.5)
        panel.axvline(0, color=LINE, linewidth=0.8, zorder=0)
        panel.grid(axis="x", color="#eef1f4", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.spines["bottom"].set_edgecolor(LINE)
        panel.tick_params(color=LINE, labelcolor=INK, labelsize=8.5, length=0)
        figure.suptitle(fill(self.sentence, 90), x=0.01, ha="left", fontsize=10, color=INK)
        panel.set_xlabel("points: examples; diamonds: means with 95 % intervals", fontsize=8, color=PALE)
        return figure

    def _repr_html_(self) -> str:
        from regard.display import html_table

        heading, *rows = self.rows()
        return html_table([tuple(row) for row in rows], title=self.sentence, heading=tuple(heading))
