"""Scores of word alignments against true links, some sure and some merely possible (Och and Ney 2003).

With A the links found, S the sure ones and P the possible ones, of which the sure are part:

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,   error rate = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All three, and F1, the harmonic mean of precision and recall, are from 0 to 1, of counts summed over all sentences. With
no links to find and none found, the error is 0. Intervals are by the bootstrap over sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from regard.errors import UsageError
from regard.metrics.comparison import Comparison, compared
from regard.metrics.resampling import RESAMPLES, interval
from regard.metrics.score import MetricScore

Links = AbstractSet[tuple[int, int]]
"""Pairs (source position, target position)."""
LinkTable = Int[np.ndarray, "sentences 6"]
"""The counts of each sentence, in the order of `LinkCounts`."""


@dataclass(frozen=True)
class LinkCounts:
    """The counts behind the scores of an alignment."""

    sentences: int
    found: int
    sure: int
    found_sure: int
    found_possible: int
    possible: int
    """All that are sure or merely possible."""

    @property
    def precision(self) -> MetricScore:
        """Share of found links that are possible."""
        return self._score("alignment precision", self.found_possible, self.found)

    @property
    def recall(self) -> MetricScore:
        """Share of sure links that are found."""
        return self._score("alignment recall", self.found_sure, self.sure)

    @property
    def f1(self) -> MetricScore:
        """Harmonic mean of precision and recall."""
        both = self.precision.value * self.recall.value
        return self._score("alignment F1", 2 * both, self.precision.value + self.recall.value, default=0.0)

    @property
    def error_rate(self) -> MetricScore:
        """Alignment error rate, from 0 (best) to 1."""
        links = self.found + self.sure
        return self._score("alignment error rate", links - self.found_sure - self.found_possible, links, default=0.0)

    def _score(self, name: str, part: float, whole: float, default: float = 1.0) -> MetricScore:
        signature = f"sentences:{self.sentences}|found:{self.found}|sure:{self.sure}"
        if self.possible > self.sure:
            signature += f"|possible:{self.possible}"
        return MetricScore(name, part / whole if whole else default, signature)


SCORES: tuple[Callable[[LinkCounts], MetricScore], ...] = (
    lambda counts: counts.error_rate,
    lambda counts: counts.precision,
    lambda counts: counts.recall,
    lambda counts: counts.f1,
)


def count_links(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None) -> LinkCounts:
    """Sums the counts over all sentences; `possible` defaults to the sure links."""
    return _counts(link_table(found, sure, possible))


def link_table(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None) -> LinkTable:
    """The counts of each sentence; `possible` defaults to the sure links."""
    possible = sure if possible is None else possible
    if not len(found) == len(sure) == len(possible):
        raise UsageError(
            f"alignments of {len(found)} sentences cannot be compared with sure links of {len(sure)} and possible "
            f"links of {len(possible)}; give one set for each sentence, empty where there are none"
        )
    rows = zip(found, sure, possible, strict=True)
    counted = [(1, len(a), len(s), len(a & s), len(a & (s | p)), len(s | p)) for a, s, p in rows]
    return np.array(counted, dtype=np.int64).reshape(-1, 6)


def _counts(table: LinkTable) -> LinkCounts:
    return LinkCounts(*map(int, table.sum(axis=0)))


def alignment_error_rate(
    found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> MetricScore:
    return count_links(found, sure, possible).error_rate


FAR, LEAST = 0.1, 20
"""Minimum difference of error rates to suspect another format, and of true links to rule out chance."""
_WAYS: Mapping[str, Callable[[int, int], tuple[int, int]]] = {
    "with source and target of each link exchanged, so that one of both files seems to have target-source": (
        lambda source, target: (target, source)
    ),
    "with 1 less in each link, so that they seem to count from 1": lambda source, target: (source - 1, target - 1),
    "with 1 more in each link, so that the true links seem to count from 1": (
        lambda source, target: (source + 1, target + 1)
    ),
}


def read_otherwise(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]) -> str:
    """A warning if links agree far better with the true ones when read in another format; empty if not."""
    if sum(map(len, sure)) < LEAST:
        return ""
    rate = alignment_error_rate(found, sure, possible).value
    others = {
        told: alignment_error_rate([{way(*link) for link in links} for links in found], sure, possible).value
        for told, way in _WAYS.items()
    }
    told = min(others, key=lambda each: others[each])
    return f"the error rate is {rate:.4f}, and {others[told]:.4f} {told}" if others[told] < rate - FAR else ""


def alignment_scores(
    found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> tuple[MetricScore, ...]:
    """Error rate, precision, recall and F1, each with its margin."""
    table = link_table(found, sure, possible)
    return tuple(_with_margin(table, score) for score in SCORES)


def agreement(forward: Sequence[Links], backward: Sequence[Links]) -> MetricScore:
    """How far two directions agree, if there is no gold: F1 of one direction's links against the other's."""
    return agreement_of(link_table(forward, backward))


def agreement_of(table: LinkTable) -> MetricScore:
    """The same from counts: one direction's links are those found, the other's the sure ones."""
    score = _with_margin(table, lambda counts: counts.f1)
    return replace(score, name="agreement of both directions", signature=score.signature.replace("sure:", "reverse:"))


def _with_margin(table: LinkTable, score: Callable[[LinkCounts], MetricScore]) -> MetricScore:
    found = score(_counts(table))
    if not len(table):
        return found
    low, high = interval(lambda rows: score(_counts(table[rows])).value, len(table))
    return replace(found, margin=(high - low) / 2, signature=f"{found.signature}|bs:{RESAMPLES}|seed:0")


def compare_alignments(
    found: Sequence[Links], others: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> Comparison:
    """The error rates of two systems on the same sentences, with the significance of their difference."""
    ours, theirs = (link_table(each, sure, possible).astype(np.float64) for each in (found, others))
    if not len(ours):
        raise UsageError("there is nothing to compare: the text has no sentence")

    def rate(totals: np.ndarray) -> float:
        return LinkCounts(*map(int, totals)).error_rate.value

    signature = f"sentences:{len(ours)}|sure:{int(ours[:, 2].sum())}"
    return compared("alignment error rate", rate, ours, theirs, signature, lower_is_better=True, digits=4)
