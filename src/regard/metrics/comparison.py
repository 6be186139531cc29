"""Significance tests: is one system better than another on the same text?

The p-value is from paired approximate randomization (Riezler and Maxwell 2005), two-sided: how often the systems differ
at least as much when their outputs are swapped at random, line by line. The interval is from paired bootstrap
resampling (Koehn 2004). Both use sacreBLEU's per-line counts, scores, sample sizes and seed, but not its p-values. Its
randomization test does not count ties (swaps that differ exactly as much), which are frequent where lines differ by an
edit or two, so its p-values are too small; here ties count, and signatures say `ties:counted`. Its bootstrap test is
one-sided and would call differences significant whose 95 % interval contains zero.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from regard.display import html_table
from regard.errors import UsageError
from regard.metrics.resampling import RESAMPLES
from regard.metrics.text import TextMetric, bleu_tokenizer, refuse_unpaired, text_metrics

TRIALS = 10_000
"""Random swaps behind a p-value: sacreBLEU's default."""
SIGNIFICANT = 0.05
TIE = 1e-9
"""Tolerance for ties: the order of summation causes rounding errors."""
Score = Callable[[np.ndarray], float]
"""Of the sum of the counts of lines."""
SWAPS_AT_ONCE = 4_000_000
"""Swaps (lines × trials) drawn at a time, which bounds the memory."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """One metric of two systems on the same lines."""

    name: str
    value: float
    other: float
    """The other system's."""
    low: float
    high: float
    """The 95 % interval of the difference."""
    p_value: float
    """How often equally good systems would differ at least as much."""
    signature: str
    lower_is_better: bool = False
    digits: int = 2
    """Decimals in reports."""

    @property
    def difference(self) -> float:
        """By how much the value is higher than the other system's."""
        return self.value - self.other

    @property
    def is_significant(self) -> bool:
        """Whether the p-value is below 0.05."""
        return self.p_value < SIGNIFICANT

    def numbers(self) -> str:
        """Both values, their difference, its interval and the p-value."""
        p_value = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        direction, digits = " (lower is better)" if self.lower_is_better else "", self.digits
        interval = f"95 % interval {self.low:+.{digits}f} to {self.high:+.{digits}f}"
        return (
            f"{self.name}{direction} {self.value:.{digits}f} against {self.other:.{digits}f}: "
            f"{self.difference:+.{digits}f} ({interval}), {p_value}"
        )

    def __repr__(self) -> str:
        return f"<{self.numbers()}>"

    def _repr_html_(self) -> str:
        return html_table([("", self.numbers()), ("", self.verdict()), ("computed by", self.signature)])

    def verdict(self) -> str:
        """The conclusion from the numbers."""
        if self.difference == 0 and self.p_value == 1:
            return "no difference at all"
        often = f"equally good systems differ this much in {_frequency(self.p_value)} comparisons"
        if not self.is_significant:
            return f"no difference can be shown on this text: {often}"
        better = (self.difference < 0) == self.lower_is_better
        return f"{'better' if better else 'worse'}, and hardly by chance: {often}"


def compare(
    outputs: Sequence[str], others: Sequence[str], references: Sequence[str], tokenizer: str = "auto"
) -> tuple[Comparison, ...]:
    """BLEU, chrF and TER of two systems, with the significance of the differences; `tokenizer` is BLEU's."""
    refuse_unpaired("comparison", outputs, references)
    if len(others) != len(outputs):
        raise UsageError(f"comparison: {len(outputs)} outputs and {len(others)} of the other system do not pair up")
    return tuple(
        _compared(metric, _counts(metric, outputs, references), _counts(metric, others, references))
        for metric in text_metrics(bleu_tokenizer(references, tokenizer)).values()
    )


def _compared(metric: TextMetric, ours: np.ndarray, theirs: np.ndarray) -> Comparison:
    name = metric._compute_score_from_stats(list(ours.sum(axis=0))).name
    found = compared(name, partial(_score, metric), ours, theirs, "", lower_is_better=name == "TER")
    signature = metric.get_signature()
    for key, value in _conditions().items():
        signature.update(key, value)
    return replace(found, signature=str(signature))


def compared(
    name: str,
    score: Score,
    ours: np.ndarray,
    theirs: np.ndarray,
    signature: str,
    *,
    lower_is_better: bool = False,
    digits: int = 2,
) -> Comparison:
    """A score of two systems, given their counts on each line; it is a function of the sum."""
    draws = np.random.default_rng(_seed()).choice(len(ours), size=(RESAMPLES, len(ours)), replace=True)
    differences = np.sort([score(ours[rows].sum(axis=0)) - score(theirs[rows].sum(axis=0)) for rows in draws])
    cut = RESAMPLES // 40  # 2.5 % at either end
    return Comparison(
        name=name,
        value=score(ours.sum(axis=0)),
        other=score(theirs.sum(axis=0)),
        low=float(differences[cut]),
        high=float(differences[-1 - cut]),
        p_value=_p_value(score, ours, theirs, np.random.default_rng(_seed())),
        signature="|".join([signature, *(f"{key}:{value}" for key, value in _conditions().items())]),
        lower_is_better=lower_is_better,
        digits=digits,
    )


def _conditions() -> dict[str, str]:
    """The conditions of the interval and the p-value, for signatures."""
    return {"bs": str(RESAMPLES), "ar": str(TRIALS), "seed": str(_seed()).lower(), "ties": "counted"}


def _p_value(score: Score, ours: np.ndarray, theirs: np.ndarray, generator: np.random.Generator) -> float:
    """The share of random swaps, including the actual assignment, with at least as large a difference."""
    first, second = ours.sum(axis=0), theirs.sum(axis=0)
    observed = abs(score(first) - score(second)) - TIE
    changes = (theirs - ours)[(ours != theirs).any(axis=1)]  # swapping equal lines changes nothing
    at_once = max(1, SWAPS_AT_ONCE // max(1, len(changes)))
    extreme = 1
    for start in range(0, TRIALS, at_once):
        swaps = generator.integers(2, size=(min(at_once, TRIALS - start), len(changes)), dtype=np.int8)
        # Counts are integers, so these sums are exact in any order.
        for moved in swaps.astype(np.float64) @ changes:
            extreme += abs(score(first + moved) - score(second - moved)) >= observed
    return extreme / (TRIALS + 1)


def _seed() -> int | None:
    """sacreBLEU's seed, from its environment variable; `none` means unseeded."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    return None if seed.lower() == "none" else int(seed)


def _counts(metric: TextMetric, texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """The metric's statistics of each line; the score of a text is a function of their sum."""
    return np.array(metric._extract_corpus_statistics(list(texts), [list(references)]), dtype=np.float64)


def _score(metric: TextMetric, totals: np.ndarray) -> float:
    return float(metric._compute_score_from_stats(list(totals)).score)


def _frequency(p_value: float) -> str:
    if p_value < 0.001:
        return "fewer than 1 of 1,000"
    if p_value < 0.0095:
        return f"about {round(1000 * p_value)} of 1,000"
    return f"about {round(100 * p_value)} of 100"
