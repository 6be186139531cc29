"""Reports of a ladder: a table and a picture."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from regard.inspect.figure import GOLD, INK, LINE, PALE, new_figure, save_figure
from regard.train.durations import duration

if TYPE_CHECKING:
    from regard.study.ladder import Result

BAR, WORSE = "#2470ae", "#a9bccd"
NOTE = 120
"""Characters of a line below the picture."""


def rows_of(results: "Sequence[Result]") -> list[list[str]]:
    """The table, its heading first."""
    return [["rung", "parameters", "time", "tokens/s", "perplexity", "added", "against"], *map(_row, results)]


def _row(result: "Result") -> list[str]:
    return [
        result.rung,
        f"{result.parameters:,}",
        duration(result.seconds) if result.seconds else "–",
        f"{result.tokens_per_second:,.0f}" if result.tokens_per_second else "–",
        f"{result.perplexity:.2f}",
        "" if result.added is None else f"{result.added:+.1f} %",
        result.against,
    ]


def markdown(results: "Sequence[Result]") -> str:
    """The table in Markdown, the ideas behind the rungs, and how the numbers were computed."""
    heading, *rows = rows_of(results)
    lines = [" | ".join(["", *heading, ""]).strip(), "|---|" + "---:|" * (len(heading) - 2) + "---|"]
    lines += [" | ".join(["", *row, ""]).strip() for row in rows]
    ideas = [f"- {result.rung}: {result.idea} ({result.ended})" for result in results]
    signatures = dict.fromkeys(f"- {result.rung}: {result.signature}" for result in results)
    note = "Perplexity is that of the test text, per token; `added` is its change against another rung."
    worse = [f"- {line}" for line in out_of_order(results)]
    worse = ["", "Out of order:", "", *worse] if worse else []
    return "\n".join([*lines, "", note, *worse, "", *ideas, "", "Signatures:", "", *signatures]) + "\n"


def out_of_order(results: "Sequence[Result]") -> list[str]:
    """Why rungs are worse than those they are compared with, a sentence for each."""
    return [f"{result.rung} is worse than {result.against}: {_why(result)}" for result in results if _is_worse(result)]


def _is_worse(result: "Result") -> bool:
    return result.added is not None and result.added > 0


def _why(result: "Result") -> str:
    if not result.reason:
        return "this text does not repeat its words often enough for what is put on top"
    if result.reason == "patience":
        return (
            "it stopped improving, so that more time would not help; with more text, or another size than "
            f"{result.parameters:,} parameters, it may be better"
        )
    return f"its training ended while it still improved ({duration(result.seconds)}); give it more with --minutes"


def draw(results: "Sequence[Result]", path: Path) -> None:
    """Perplexity of each rung as a bar, and what it added against the rung it is compared with. Below, why rungs are
    out of order, if some are."""
    notes = [line for note in out_of_order(results) for line in wrap(note, NOTE, subsequent_indent="    ")]
    figure = new_figure(figsize=(7.2, 1.2 + 0.5 * len(results) + 0.16 * len(notes)), layout="constrained")
    panel = figure.subplots()
    best = min(results, key=lambda result: result.perplexity)
    places = range(len(results))
    values = [result.perplexity for result in results]
    colors = [GOLD if result is best else WORSE if _is_worse(result) else BAR for result in results]
    bars = panel.barh(list(places), values, color=colors, height=0.62)
    labels = [f"{result.perplexity:.1f}{_added(result)}" for result in results]
    panel.bar_label(bars, labels, fontsize=8.5, color=INK, padding=4)
    panel.set_yticks(list(places), [result.rung for result in results])
    panel.invert_yaxis()
    panel.set_xlim(0, max(values) * 1.35)
    panel.set_xlabel("perplexity of the test text, per token; less is better", color=PALE, fontsize=9)
    if notes:
        figure.supxlabel("\n".join(notes), x=0.01, ha="left", color=INK, fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_edgecolor(LINE)
    panel.tick_params(color=LINE, labelcolor=INK, labelsize=9)
    save_figure(figure, path)


def _added(result: "Result") -> str:
    return "" if result.added is None else f"  ({result.added:+.0f} % against {result.against})"
