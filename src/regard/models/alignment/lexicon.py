"""The probability that a word is translated by another, from expected counts and from what is known before.

Counts are smoothed by a Dirichlet prior, whose mean for rare words is what makes an aligner of small texts: how words
with the same beginning are translated, which words are spelled alike, and how frequent words are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int32

from regard.models.alignment.spelling import Spelled
from regard.recipe.alignment import HmmAligner

Floats = npt.NDArray[np.float64]
Pairs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""The source and the target word of each pair of words."""


def stem_of(word: str, letters: int) -> str:
    """The beginning of a word, which it shares with its other forms; numbers and punctuation have no forms."""
    return word if len(word) <= letters or not word[0].isalpha() else word[:letters] + "…"


@dataclass(frozen=True)
class Words:
    """The different words of one side of a text, and how often they and their stems were seen in training."""

    occurrences: Float[np.ndarray, " words"]
    """At least 1, also of words that were not seen."""
    stems: Int32[np.ndarray, " words"]
    stem_occurrences: Float[np.ndarray, " stems"]
    spelled: Spelled
    total: float
    """Words of the training text."""

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        occurrences: Floats,
        letters: int,
        alphabet: str,
        known: tuple[Mapping[str, float], float] | None = None,
    ) -> Self:
        """`known` are the occurrences of stems in the training text and its length, unless this is that text."""
        numbers: dict[str, int] = {}
        stems = np.array([numbers.setdefault(stem_of(word, letters), len(numbers)) for word in words], np.int32)
        here = summed(stems, occurrences, len(numbers))
        if known is not None:
            here = np.maximum([known[0].get(stem, 0.0) for stem in numbers], [1.0] * len(numbers))
        total = float(occurrences.sum()) if known is None else known[1]
        return cls(np.maximum(occurrences, 1.0), stems, here, Spelled.of(words, alphabet), total)

    def prior(self, counts: Floats, totals: Floats, written: npt.NDArray[np.int32], settings: HmmAligner) -> Floats:
        """The probability that a word of this side is written, by its frequency and, given the stem of the other word,
        by its stem: `counts` are those of pairs of stems, `totals` those of the other stem, for each pair of words."""
        share: Floats = (self.occurrences / self.total)[written]
        if not settings.stem:
            return share
        stem = self.stems[written]
        mean = (self.stem_occurrences / self.total)[stem]
        within = np.minimum(self.occurrences / self.stem_occurrences[self.stems], 1.0)[written]
        by_stem = (counts + settings.strength * mean) / (totals + settings.strength) * within
        found: Floats = (1 - settings.stem_share) * share + settings.stem_share * by_stem
        return found


@dataclass(frozen=True)
class Expected:
    """How often words and stems are expected to be translations of each other, for the pairs of words of a text."""

    pairs: Floats
    sources: Floats
    """For each pair of words, of its source word with any other."""
    targets: Floats
    stems: Floats
    source_stems: Floats
    target_stems: Floats


Related = tuple[Floats, Floats]
"""The probability of the target word by its spelling, given the source word, and of the source word."""


def translation_probabilities(
    pairs: Pairs, words: tuple[Words, Words], counts: Expected, related: Related | None, settings: HmmAligner
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Of each pair of words: that of the target given the source, and of the source given the target."""

    def direction(side: int, totals: Floats, stem_totals: Floats) -> npt.NDArray[np.float32]:
        prior = words[side].prior(counts.stems, stem_totals, pairs[side], settings)
        if related is not None:
            prior = (1 - settings.spelling) * prior + settings.spelling * related[1 - side]
        return ((counts.pairs + settings.strength * prior) / (totals + settings.strength)).astype(np.float32)

    return direction(1, counts.sources, counts.source_stems), direction(0, counts.targets, counts.target_stems)


def summed(places: npt.NDArray[np.integer], values: npt.NDArray[np.number], least: int = 0) -> Floats:
    """The sum of the values of each place."""
    return np.bincount(places, values, least).astype(np.float64)


def expected(pairs: Pairs, words: tuple[Words, Words], counts: npt.NDArray[np.float32], letters: int) -> Expected:
    """Counts of the pairs of words of the training text, summed up."""
    source, target = words
    of_sources, of_targets = summed(pairs[0], counts, len(source.stems)), summed(pairs[1], counts, len(target.stems))
    nothing = np.zeros(0)
    if not letters:
        return Expected(counts.astype(np.float64), of_sources[pairs[0]], of_targets[pairs[1]], *[nothing] * 3)
    stems = source.stems[pairs[0]], target.stems[pairs[1]]
    keys = stems[0].astype(np.int64) * len(target.stem_occurrences) + stems[1]
    _, numbers = np.unique(keys, return_inverse=True)
    return Expected(
        counts.astype(np.float64),
        of_sources[pairs[0]],
        of_targets[pairs[1]],
        summed(numbers, counts)[numbers],
        summed(source.stems, of_sources)[stems[0]],
        summed(target.stems, of_targets)[stems[1]],
    )
