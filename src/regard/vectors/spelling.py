"""Known words with a spelling similar to an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

CANDIDATES = 200
"""Words that are compared letter by letter: those that share the most letter pairs with the unknown one."""


def nearest_spelled(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Up to `most` known words with the most similar spelling; fast for hundreds of thousands of words."""
    folded = word.casefold()
    pairs = _pairs(folded)

    def shared(other: str) -> float:
        theirs = _pairs(other.casefold())
        return len(pairs & theirs) / (len(pairs) + len(theirs))

    alike = (other for other in known if abs(len(other) - len(word)) <= 2)
    candidates = nlargest(CANDIDATES, alike, key=shared)
    # Of words that differ only in case, the most frequent comes first in `candidates` and wins.
    by_folded = {other.casefold(): other for other in reversed(candidates)}
    return [by_folded[match] for match in get_close_matches(folded, by_folded, n=most, cutoff=0.6)]


def _pairs(word: str) -> set[str]:
    framed = f"\n{word}\n"
    return {framed[place : place + 2] for place in range(len(framed) - 1)}
