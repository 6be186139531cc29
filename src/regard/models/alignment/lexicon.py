"""The probability that a word is translated by another, from expected counts and a prior.

Counts are smoothed by a Dirichlet prior, which is crucial for rare words and so for small texts. Its mean depends on
how words with the same stem are translated, on which words are spelled alike, and on how frequent words are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, no_type_check

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int32

from regard.loops import njit
from regard.models.alignment.spelling import Spelled, Transducer
from regard.models.alignment.word_pairs import Numbering
from regard.recipe.alignment import HmmAligner

Floats = npt.NDArray[np.float64]
Pairs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""The source and the target word of each pair of words."""
AT_ONCE = 1_000_000
"""Pairs of words whose translations are computed together."""


def stem_of(word: str, letters: int) -> str:
    """The beginning of a word, which it shares with its other forms; numbers and punctuation have no forms."""
    return word if len(word) <= letters or not word[0].isalpha() else word[:letters] + "…"


@dataclass(frozen=True)
class Words:
    """The distinct words of one side of a text, and the training counts of these and of their stems."""

    occurrences: Float[np.ndarray, " words"]
    """At least 1, even for unseen words."""
    stems: Int32[np.ndarray, " words"]
    stem_occurrences: Float[np.ndarray, " stems"]
    spelled: Spelled
    total: float
    """Length of the training text in words."""

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        occurrences: Floats,
        letters: int,
        alphabet: str,
        known: tuple[Mapping[str, float], float] | None = None,
    ) -> Self:
        """`known` has the stem counts and the length of the training text, unless this is that text."""
        numbers: dict[str, int] = {}
        stems = np.array([numbers.setdefault(stem_of(word, letters), len(numbers)) for word in words], np.int32)
        here = summed(stems, occurrences, len(numbers))
        if known is not None:
            here = np.maximum([known[0].get(stem, 0.0) for stem in numbers], [1.0] * len(numbers))
        total = float(occurrences.sum()) if known is None else known[1]
        return cls(np.maximum(occurrences, 1.0), stems, here, Spelled.of(words, alphabet), total)

    def prior(self, counts: Floats, totals: Floats, written: npt.NDArray[np.int32], settings: HmmAligner) -> Floats:
        """The prior probability of a word of this side, from its frequency and, given the stem of the other word, its
        stem. For each pair of words, `counts` are those of its pair of stems, `totals` those of the other stem."""
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
    """Expected counts of words and stems as translations of each other, for the pairs of words of a text."""

    pairs: Floats
    sources: Floats
    """For each pair of words, the total of its source word."""
    targets: Floats
    stems: Floats
    source_stems: Floats
    target_stems: Floats


Related = tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]
"""By spelling: the probability of the target word given the source word, and the reverse."""


def translation_probabilities(
    pairs: Pairs, words: tuple[Words, Words], counts: Expected, related: Related | None, settings: HmmAligner
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """For each pair of words: the probability of the target given the source, and the reverse."""

    def direction(side: int, totals: Floats, stem_totals: Floats) -> npt.NDArray[np.float32]:
        prior = words[side].prior(counts.stems, stem_totals, pairs[side], settings)
        if related is not None:
            prior = (1 - settings.spelling) * prior + settings.spelling * related[1 - side]
        return ((counts.pairs + settings.strength * prior) / (totals + settings.strength)).astype(np.float32)

    return direction(1, counts.sources, counts.source_stems), direction(0, counts.targets, counts.target_stems)


class TrainingLexicon:
    """The translation probabilities of all pairs of words of a training text, reestimated in every round."""

    def __init__(self, pairs: Pairs, words: tuple[Words, Words], settings: HmmAligner) -> None:
        self.pairs, self.words, self._settings = pairs, words, settings
        source, target = (np.full(len(pairs[0]), 1 / max(len(side.stems), 1), np.float32) for side in words)
        self.translations = target, source
        """The probability of the target word given the source word, and the reverse."""
        self.related: Related | None = None
        numbering = Numbering()
        self._stem_pairs = np.zeros(len(pairs[0]) if settings.stem else 0, np.int32)
        for some in self._pieces() if settings.stem else ():
            stems = self._stems_of(some)
            keys = stems[0].astype(np.int64) * len(words[1].stem_occurrences) + stems[1]
            self._stem_pairs[some] = numbering.numbers(keys)
        self._different_stem_pairs = len(numbering.keys)

    def _pieces(self) -> Iterator[slice]:
        """The pairs in chunks, because intermediate results take several times their memory."""
        return (slice(first, first + AT_ONCE) for first in range(0, len(self.pairs[0]), AT_ONCE))

    def _stems_of(self, some: slice) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        source, target = (side.stems[each[some]] for side, each in zip(self.words, self.pairs, strict=True))
        return source, target

    def relate(self, spelling: Transducer) -> None:
        """Includes spelling in the prior from now on."""
        found = np.empty((2, len(self.pairs[0])), np.float32)
        for some in self._pieces():
            here = self.pairs[0][some], self.pairs[1][some]
            found[:, some] = spelling.probabilities(self.words[0].spelled, self.words[1].spelled, here)
        self.related = found[0], found[1]

    def estimate(self, counts: npt.NDArray[np.float32]) -> None:
        """Reestimates the translation probabilities from the expected counts of pairs."""
        of_words, of_stems = [], []
        for side, each in zip(self.words, self.pairs, strict=True):
            of_words.append(_sum(each, counts, len(side.stems)))
            of_stems.append(summed(side.stems, of_words[-1], len(side.stem_occurrences)))
        of_stem_pairs = _sum(self._stem_pairs, counts, self._different_stem_pairs)
        nothing = np.zeros(0)
        for some in self._pieces():
            here = self.pairs[0][some], self.pairs[1][some]
            by_stem: tuple[Floats, Floats, Floats] = (nothing, nothing, nothing)
            if self._settings.stem:
                stems = self._stems_of(some)
                by_stem = of_stem_pairs[self._stem_pairs[some]], of_stems[0][stems[0]], of_stems[1][stems[1]]
            estimated = Expected(counts[some].astype(np.float64), of_words[0][here[0]], of_words[1][here[1]], *by_stem)
            related = None if self.related is None else (self.related[0][some], self.related[1][some])
            new = translation_probabilities(here, self.words, estimated, related, self._settings)
            self.translations[0][some], self.translations[1][some] = new


def summed(places: npt.NDArray[np.integer], values: npt.NDArray[np.number], size: int) -> Floats:
    """The sum of the values of each place."""
    return np.bincount(places, values, size).astype(np.float64)


@njit(cache=True)
@no_type_check
def _sum(places: npt.NDArray[np.int32], values: npt.NDArray[np.float32], size: int) -> Floats:
    """The same for large arrays, without numpy's copies for type conversion."""
    found = np.zeros(size)
    for place in range(len(places)):
        found[places[place]] += values[place]
    return found
