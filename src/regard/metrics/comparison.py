"""Whether one system is better than another on the same text, or whether chance may have made the difference.

The p-value is that of paired approximate randomization (Riezler and Maxwell 2005): how often the two systems differ at
least as much when, line by line, a coin decides which output belongs to which. It is two-sided, as the question is. The
interval comes from paired bootstrap resampling (Koehn 2004): the lines are drawn anew, the same ones for both systems.
Both are as in sacreBLEU, random numbers included. The p-value of its bootstrap is not used, because it is one-sided and
would call differences significant whose 95 % interval contains zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics.base import Signature
from sacrebleu.significance import PairedTest, Result

from regard.errors import UsageError
from regard.metrics.text import TextMetric, refuse_unpaired, text_metrics

TRIALS, RESAMPLES = 10_000, 1_000
"""Random swaps behind a p-value, and bootstrap samples behind an interval: sacreBLEU's own numbers."""
SIGNIFICANT = 0.05


@dataclass(frozen=True)
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

    @property
    def difference(self) -> float:
        return self.value - self.other

    @property
    def is_significant(self) -> bool:
        return self.p_value < SIGNIFICANT

    def numbers(self) -> str:
        """Both values, their difference, its interval and the p-value."""
        p_value = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return (
            f"{self.name} {self.value:.2f} against {self.other:.2f}: {self.difference:+.2f} "
            f"(95 % interval {self.low:+.2f} to {self.high:+.2f}), {p_value}"
        )

    def verdict(self) -> str:
        """What the numbers mean, for someone who is no statistician."""
        if self.difference == 0 and self.p_value == 1:
            return "no difference at all"
        often = f"equally good systems differ this much in {_often(self.p_value)} comparisons"
        if not self.is_significant:
            return f"no difference can be shown on this text: {often}"
        better = (self.difference < 0) == self.lower_is_better
        return f"{'better' if better else 'worse'}, and hardly by chance: {often}"


def compare(outputs: Sequence[str], others: Sequence[str], references: Sequence[str]) -> tuple[Comparison, ...]:
    """BLEU, chrF and TER of a system's outputs and of another's, with how far their differences can be trusted."""
    refuse_unpaired("comparison", outputs, references)
    if len(others) != len(outputs):
        raise UsageError(f"comparison: {len(outputs)} outputs and {len(others)} of the other system do not pair up")
    systems: list[tuple[str, Sequence[str]]] = [("other", list(others)), ("this", list(outputs))]
    metrics = text_metrics()
    signatures, results = PairedTest(systems, metrics, [list(references)], "ar", TRIALS)()
    return tuple(
        _compared(
            name,
            metric,
            _counts(metric, outputs, references),
            _counts(metric, others, references),
            _p_value(results[name][1]),
            signatures[name],
        )
        for name, metric in zip(signatures, metrics.values(), strict=True)
    )


def _compared(
    name: str, metric: TextMetric, ours: np.ndarray, theirs: np.ndarray, p_value: float, signature: Signature
) -> Comparison:
    seed = signature.info["seed"]
    generator = np.random.default_rng(None if seed == "none" else int(seed))
    draws = generator.choice(len(ours), size=(RESAMPLES, len(ours)), replace=True)
    differences = np.sort([_score(metric, ours[rows]) - _score(metric, theirs[rows]) for rows in draws])
    cut = RESAMPLES // 40  # 2.5 % at either end
    signature.update("bs", RESAMPLES)
    # Of the 2^k ways to swap k lines that differ, the one at hand and its mirror image differ as much as the systems
    # do. sacreBLEU counts larger differences only, and would call a single line, or none, significant.
    differing = int((ours != theirs).any(axis=1).sum())
    return Comparison(
        name=name,
        value=_score(metric, ours),
        other=_score(metric, theirs),
        low=float(differences[cut]),
        high=float(differences[-1 - cut]),
        p_value=min(1.0, max(p_value, 2.0 ** (1 - min(differing, 100)))),
        signature=str(signature),
        lower_is_better=name == "TER",
    )


def _p_value(result: str | Result) -> float:
    assert isinstance(result, Result)
    assert result.p_value is not None
    return result.p_value


def _counts(metric: TextMetric, texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What a metric counts in each line; the score of a text is a function of the sum over its lines."""
    return np.array(metric._extract_corpus_statistics(list(texts), [list(references)]), dtype=np.float64)


def _score(metric: TextMetric, counts: np.ndarray) -> float:
    return float(metric._compute_score_from_stats(list(counts.sum(axis=0))).score)


def _often(p_value: float) -> str:
    if p_value < 0.001:
        return "fewer than 1 of 1,000"
    if p_value < 0.0095:
        return f"about {round(1000 * p_value)} of 1,000"
    return f"about {round(100 * p_value)} of 100"
