"""Whether text is in the language of another text, by its most frequent character n-grams (Cavnar and Trenkle 1994)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from regard.data.characters import HASHES, LONGEST_GRAM, Characters

COMMON = 1000
"""Most frequent n-grams that make a profile."""
_LEAST_CHARACTERS = 3000
"""Of a text whose profile is to be trusted."""
_USUAL = 0.2
"""Share of a text that its own common n-grams must cover; if 4-grams do not (Chinese), shorter ones are taken."""


@dataclass(frozen=True)
class Language:
    """Profile of a text."""

    order: int
    common: npt.NDArray[np.bool_]
    """Whether an n-gram with that hash is one of the most frequent."""
    usual: float
    """Share of the n-grams of further text from the same source that are among the common ones."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Language | None":
        """The profile of some lines; None if they are too few."""
        if sum(map(len, lines)) < _LEAST_CHARACTERS:
            return None
        halves = Characters.of(lines[::2]), Characters.of(lines[1::2])
        for order in range(LONGEST_GRAM, 0, -1):
            one, other = (np.bincount(half.grams(order), minlength=HASHES) for half in halves)
            usual = float(other[_most_frequent(one)].sum() / max(1, other.sum()))
            if usual >= _USUAL:
                break
        return cls(order, _most_frequent(one + other), max(usual, 1e-3))

    def likeness(self, text: Characters) -> npt.NDArray[np.float64]:
        """For each line the share of common n-grams, as a multiple of the usual one: about 1 in this language, and far
        below in another."""
        grams = text.grams(self.order)
        found = text.summed(self.common[grams])
        return found / (text.lengths + LONGEST_GRAM - 1) / self.usual


def _most_frequent(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    common = np.zeros(HASHES, dtype=np.bool_)
    common[np.argsort(-counts, kind="stable")[:COMMON]] = True
    return common & (counts > 0)
