"""Whether text is in the language of another text, by its most frequent character n-grams (Cavnar and Trenkle 1994)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from regard.data.characters import HASHES, LONGEST_GRAM, Characters

COMMON = 1000
"""Number of most frequent n-grams of each order in a profile."""
PROFILED = 5000
"""Maximum number of lines from which a profile is made."""
_LEAST_CHARACTERS = 3000
"""Minimum size of a text for a reliable profile."""
_USUAL = 0.2
"""Share of a text that its own common n-grams must cover; if 4-grams do not (Chinese), shorter ones are used."""
_CONTRASTED = (1, 2, 3)
"""Orders of the n-grams by which two languages are told apart. Longer ones show the topic too."""
_CLIPPED = 3.0
"""Maximum evidence of one n-gram in nats, so that a few do not outweigh the rest of a line."""

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Hashes of n-grams, and how often each occurs."""


@dataclass(frozen=True)
class Language:
    """Profile of a text."""

    counts: tuple[Counts, ...]
    """The most frequent n-grams of the orders 1, 2, …"""
    totals: tuple[int, ...]
    """Number of n-grams of each order in the text."""
    order: int
    """Order of the n-grams that identify this language."""
    usual: float
    """Share of the n-grams of further text from the same source that are among the common ones."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Language | None":
        """The profile of some lines; None if they are too few."""
        if sum(map(len, lines)) < _LEAST_CHARACTERS:
            return None
        halves = Characters.of(lines[::2]), Characters.of(lines[1::2])
        orders = range(1, LONGEST_GRAM + 1)
        counted = [[np.bincount(half.grams(order), minlength=HASHES) for half in halves] for order in orders]
        for order in reversed(orders):
            one, other = counted[order - 1]
            usual = float(other[_most_frequent(one)].sum() / max(1, other.sum()))
            if usual >= _USUAL:
                break
        sums = [one + other for one, other in counted]
        kept = tuple((common, each[common]) for each in sums for common in [_most_frequent(each)])
        return cls(kept, tuple(int(each.sum()) for each in sums), order, max(usual, 1e-3))

    @cached_property
    def _common(self) -> npt.NDArray[np.bool_]:
        common = np.zeros(HASHES, dtype=np.bool_)
        common[self.counts[self.order - 1][0]] = True
        return common

    def likeness(self, text: Characters) -> npt.NDArray[np.float64]:
        """For each line the share of common n-grams, as a multiple of the usual one: about 1 in this language, and far
        below in another."""
        found = text.summed(self._common[text.grams(self.order)])
        return found / (text.lengths + LONGEST_GRAM - 1) / self.usual

    def to_json(self) -> dict[str, Any]:
        counts = [[each.tolist() for each in both] for both in self.counts]
        return {"counts": counts, "totals": list(self.totals), "order": self.order, "usual": self.usual}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Language":
        counts = tuple((np.array(grams), np.array(times)) for grams, times in content["counts"])
        return cls(counts, tuple(content["totals"]), content["order"], content["usual"])


class Contrast:
    """The n-grams by which two languages differ."""

    def __init__(self, one: Language, other: Language) -> None:
        self._ratios = [_ratios(one, other, order).astype(np.float32) for order in _CONTRASTED]

    def of(self, text: Characters) -> npt.NDArray[np.float64]:
        """For each line the mean log-likelihood ratio of its n-grams in nats: how much more probable it is in the first
        language than in the second. Between English and German, for example, one line in a hundred has the wrong
        sign."""
        values = np.zeros(len(text.codes) - LONGEST_GRAM + 1, dtype=np.float32)
        for order, ratios in zip(_CONTRASTED, self._ratios, strict=True):
            values += ratios[text.grams(order)]
        return text.summed(values) / (len(_CONTRASTED) * (text.lengths + LONGEST_GRAM - 1))


def _ratios(one: Language, other: Language, order: int) -> npt.NDArray[np.float64]:
    """The log-likelihood ratio of each n-gram; 0 for one that is common in neither language."""
    frequencies, floors = [], []
    for language in (one, other):
        grams, times = language.counts[order - 1]
        frequency = np.zeros(HASHES)
        frequency[grams] = times / language.totals[order - 1]
        frequencies.append(frequency)
        # An n-gram outside the profile is rarer than the rarest one in it.
        floors.append(times.min() / language.totals[order - 1] / 2)
    known = (frequencies[0] > 0) | (frequencies[1] > 0)
    logs = [np.log(np.maximum(each, floor)) for each, floor in zip(frequencies, floors, strict=True)]
    return np.where(known, np.clip(logs[0] - logs[1], -_CLIPPED, _CLIPPED), 0.0)


def _most_frequent(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The hashes of the most frequent n-grams."""
    common = np.argsort(-counts, kind="stable")[:COMMON]
    return common[counts[common] > 0]
