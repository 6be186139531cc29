"""A number with the conditions that produced it."""

from collections.abc import Iterable
from dataclasses import dataclass

from regard.display import html_table


@dataclass(frozen=True, repr=False)
class MetricScore:
    """One score of one system on one text."""

    name: str
    value: float
    signature: str
    """How it was computed, in sacreBLEU's form; scores with different signatures cannot be compared."""
    margin: float | None = None
    """Half the width of the 95 % confidence interval, if requested."""

    @property
    def number(self) -> str:
        """The value, with its margin if it has one."""
        return f"{self.value:.4g}" + ("" if self.margin is None else f" ± {self.margin:.2g}")

    def __str__(self) -> str:
        return f"{self.name} {self.number} ({self.signature})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        return scores_table([self])


class Scores(tuple[MetricScore, ...]):
    """Several scores of the same outputs: a tuple, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return scores_table(self)


def scores_table(scores: Iterable[MetricScore], title: str = "") -> str:
    """Scores as a notebook shows them, each with how it was computed."""
    rows = ((score.name, score.number, score.signature) for score in scores)
    return html_table(rows, title=title, heading=("score", "value", "computed by"))
