"""Parts of the tables in the documentation: Markdown, and means with deviations."""

from collections.abc import Iterable, Sequence
from statistics import mean, stdev


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
