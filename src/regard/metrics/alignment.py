"""Scores of word alignments against true links, some sure and some merely possible (Och and Ney 2003).

With A the links found, S the sure ones and P the possible ones, of which the sure are part:

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,   error rate = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All three are from 0 to 1, of counts summed over all sentences. With no links to find and none found, the error is 0.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from regard.errors import UsageError
from regard.metrics.score import MetricScore

Links = AbstractSet[tuple[int, int]]
"""Pairs (source position, target position)."""


@dataclass(frozen=True)
class LinkCounts:
    """The counts behind the scores of an alignment."""

    sentences: int
    found: int
    sure: int
    found_sure: int
    found_possible: int

    @property
    def precision(self) -> MetricScore:
        """Share of found links that are possible."""
        return self._score("alignment precision", self.found_possible, self.found)

    @property
    def recall(self) -> MetricScore:
        """Share of sure links that are found."""
        return self._score("alignment recall", self.found_sure, self.sure)

    @property
    def error_rate(self) -> MetricScore:
        """Alignment error rate, from 0 (best) to 1."""
        links = self.found + self.sure
        return self._score("alignment error rate", links - self.found_sure - self.found_possible, links, default=0.0)

    def _score(self, name: str, part: int, whole: int, default: float = 1.0) -> MetricScore:
        signature = f"sentences:{self.sentences}|found:{self.found}|sure:{self.sure}"
        return MetricScore(name, part / whole if whole else default, signature)


def count_links(found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None) -> LinkCounts:
    """Sums the counts over all sentences; `possible` defaults to the sure links."""
    possible = sure if possible is None else possible
    if not len(found) == len(sure) == len(possible):
        raise UsageError(
            f"alignments of {len(found)} sentences cannot be compared with sure links of {len(sure)} and possible "
            f"links of {len(possible)}; give one set for each sentence, empty where there are none"
        )
    triples = list(zip(found, sure, possible, strict=True))
    return LinkCounts(
        sentences=len(triples),
        found=sum(len(a) for a, _, _ in triples),
        sure=sum(len(s) for _, s, _ in triples),
        found_sure=sum(len(a & s) for a, s, _ in triples),
        found_possible=sum(len(a & (s | p)) for a, s, p in triples),
    )


def alignment_error_rate(
    found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> MetricScore:
    return count_links(found, sure, possible).error_rate
