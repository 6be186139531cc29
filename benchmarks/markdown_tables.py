"""Parts of the tables in the documentation: Markdown, means with deviations, and the conditions of a measurement."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev
from typing import Any

Record = dict[str, Any]
"""A file of results."""


def spread(values: Sequence[float | None], digits: int) -> str:
    """`12.3`, or `12.3 ± 0.4` with the standard deviation where there are several."""
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    middle = f"{mean(known):,.{digits}f}"
    return f"{middle} ± {stdev(known):,.{digits}f}" if len(known) > 1 else middle


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose columns but the first are set to the right."""
    bars = ["---", *("---:" for _ in titles[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (titles, bars, *rows)]


def conditions(record: Record) -> str:
    """What a figure was measured with, in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version)
    changed = " with changes" if record["uncommitted_changes"] else ""
    load = f"load before {record['load_average_before']}"
    load += f", after {record['load_average_after']:.1f}" if "load_average_after" in record else ""
    note = f" {record['note']}" if "note" in record else ""
    return (
        f"Measured {record['date']} at {record['commit'][:10]}{changed} on {record['processor']} "
        f"({record['cpus']} processors; {load}) with {versions}: `{record['command']}`{note}"
    )
