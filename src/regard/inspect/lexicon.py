"""A bilingual dictionary, counted from the links of aligned text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from regard.inspect.inspection import Links


@dataclass(frozen=True)
class LexiconEntry:
    """Two words that are linked."""

    source: str
    target: str
    count: int
    """Links between them."""
    forward: float
    """Their share of the links of the source word: the probability of the target word given it."""
    backward: float
    """Their share of the links of the target word."""


class Lexicon:
    """The counts of linked words."""

    def __init__(self) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()

    def add(self, source: Sequence[str], target: Sequence[str], links: Links) -> None:
        """Counts the links of one pair."""
        for i, j in links:
            self._pairs[source[i], target[j]] += 1
            self._sources[source[i]] += 1
            self._targets[target[j]] += 1

    def entries(self, least: int = 1) -> list[LexiconEntry]:
        """The entries with at least `least` links, by source word, likeliest first."""
        found = [
            LexiconEntry(source, target, count, count / self._sources[source], count / self._targets[target])
            for (source, target), count in self._pairs.items()
            if count >= least
        ]
        return sorted(found, key=lambda entry: (entry.source, -entry.count, entry.target))
