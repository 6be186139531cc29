"""A number with the conditions that produced it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricScore:
    """One score of one system on one text."""

    name: str
    value: float
    signature: str
    """How it was computed, in sacreBLEU's form; scores with different signatures cannot be compared."""
    margin: float | None = None
    """Half the width of the 95 % confidence interval, if requested."""

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {self.margin:.2g}"
        return f"{self.name} {self.value:.4g}{margin} ({self.signature})"
