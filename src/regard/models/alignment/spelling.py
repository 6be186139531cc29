"""The probability that one word is spelled like another: names, numbers and cognates.

A stochastic transducer (Ristad and Yianilos 1998) generates two words at once, character by character: one of each, or
one of either alone. It learns from pairs of words that were found to be translations, as a mixture of related and
unrelated pairs, so that it also learns which letters of two scripts correspond.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, no_type_check

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int32, Int64

from regard.loops import njit

MOST, LONGEST = 200, 24
"""Alphabet size of a side (its most frequent characters), and length at which words are truncated."""
ROUNDS = 5
_STOP = 0.12
"""Probability that a word ends after a character, for unrelated words."""
_PRIOR = 5.0
"""Weight of the prior, in occurrences."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spelled:
    """Words as indices of characters; unknown characters have the last index."""

    characters: Int32[np.ndarray, " characters"]
    starts: Int64[np.ndarray, " starts"]

    @classmethod
    def of(cls, words: Sequence[str], alphabet: str) -> Self:
        known = {character: number for number, character in enumerate(alphabet)}
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum([min(len(word), LONGEST) for word in words], out=starts[1:])
        numbers = [known.get(character, len(alphabet)) for word in words for character in word[:LONGEST]]
        return cls(np.array(numbers, np.int32), starts)


def alphabet_of(words: Sequence[str]) -> str:
    """The characters of words, those of most words first."""
    counts = Counter(character for word in words for character in set(word))
    return "".join(sorted(counts, key=lambda character: (-counts[character], character))[:MOST])


@dataclass(frozen=True)
class Transducer:
    """Probabilities of the next edit: one character on each side, one of the source alone, one of the target alone, or
    the end. They sum to one."""

    both: Float[np.ndarray, "source target"]
    source: Float[np.ndarray, " source"]
    target: Float[np.ndarray, " target"]
    stop: float

    @classmethod
    def learn(
        cls,
        alphabets: tuple[str, str],
        sources: Spelled,
        targets: Spelled,
        pairs: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
        weights: Floats,
    ) -> Self:
        """From pairs of words that are translations, by expectation–maximization. Initially, identical characters are
        likely."""
        alone: list[Floats] = [
            (np.bincount(each.characters, minlength=len(alphabet) + 1) + 0.5).astype(np.float64)
            for each, alphabet in zip((sources, targets), alphabets, strict=True)
        ]
        alone = [(1 - _STOP) * each / each.sum() for each in alone]
        both = 0.3 * np.outer(*alone)
        for place, character in enumerate(alphabets[0]):
            if (other := alphabets[1].find(character)) >= 0:
                both[place, other] += 0.4 * alone[0][place]
        found = cls(both, 0.1 * alone[0], 0.1 * alone[1], 0.1)._normalized()
        related = 0.2
        for _ in range(ROUNDS):
            counts = cls(_PRIOR * np.outer(*alone), _PRIOR * alone[0], _PRIOR * alone[1], 0.0)
            mass = _expect(
                *pairs,
                weights,
                sources.characters,
                sources.starts,
                targets.characters,
                targets.starts,
                (found.both, found.source, found.target, found.stop),
                (alone[0], alone[1], _STOP),
                related,
                (counts.both, counts.source, counts.target),
            )
            found = cls(counts.both, counts.source, counts.target, mass + 1.0)._normalized()
            related = min(max(mass / max(weights.sum(), 1e-9), 0.01), 0.9)
        return found

    def _normalized(self) -> Self:
        total = self.both.sum() + self.source.sum() + self.target.sum() + self.stop
        return type(self)(self.both / total, self.source / total, self.target / total, self.stop / total)

    def probabilities(
        self, sources: Spelled, targets: Spelled, pairs: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
    ) -> tuple[Floats, Floats]:
        """For pairs of words, if they are related: the probability of the target given the source, and the reverse."""
        joint = _joint(
            *pairs,
            sources.characters,
            sources.starts,
            targets.characters,
            targets.starts,
            (self.both, self.source, self.target, self.stop),
        )
        of_source = self._of_side(sources, self.source + self.both.sum(axis=1), self.target.sum())
        of_target = self._of_side(targets, self.target + self.both.sum(axis=0), self.source.sum())
        return np.minimum(joint / of_source[pairs[0]], 1.0), np.minimum(joint / of_target[pairs[1]], 1.0)

    def _of_side(self, words: Spelled, written: Floats, other: float) -> Floats:
        """The marginal probability of each word."""
        logs = np.concatenate([[0.0], np.cumsum(np.log(written / (1 - other))[words.characters])])
        found: Floats = np.exp(logs[words.starts[1:]] - logs[words.starts[:-1]]) * self.stop / (1 - other)
        return found


_Alone = tuple[Floats, Floats, float]
_Both = tuple[Floats, Floats, Floats, float]


@njit(cache=True)
@no_type_check
def _forward(source: npt.NDArray[np.int32], target: npt.NDArray[np.int32], transducer: _Both, reached: Floats) -> float:
    """Fills in the probability of each pair of prefixes; returns that of the whole pair."""
    both, of_source, of_target, stop = transducer
    reached[0, 0] = 1.0
    for j in range(1, len(target) + 1):
        reached[0, j] = reached[0, j - 1] * of_target[target[j - 1]]
    for i in range(1, len(source) + 1):
        lone = of_source[source[i - 1]]
        reached[i, 0] = reached[i - 1, 0] * lone
        for j in range(1, len(target) + 1):
            reached[i, j] = (
                reached[i - 1, j - 1] * both[source[i - 1], target[j - 1]]
                + reached[i - 1, j] * lone
                + reached[i, j - 1] * of_target[target[j - 1]]
            )
    return float(reached[len(source), len(target)] * stop)


@njit(cache=True)
@no_type_check
def _joint(
    sources: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
    source_characters: npt.NDArray[np.int32],
    source_starts: npt.NDArray[np.int64],
    target_characters: npt.NDArray[np.int32],
    target_starts: npt.NDArray[np.int64],
    transducer: _Both,
) -> Floats:
    """The joint probability of each pair of words."""
    reached = np.zeros((LONGEST + 1, LONGEST + 1))
    found = np.empty(len(sources))
    for pair in range(len(sources)):
        source = source_characters[source_starts[sources[pair]] : source_starts[sources[pair] + 1]]
        target = target_characters[target_starts[targets[pair]] : target_starts[targets[pair] + 1]]
        found[pair] = _forward(source, target, transducer, reached)
    return found


@njit(cache=True)
@no_type_check
def _expect(
    sources: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
    weights: Floats,
    source_characters: npt.NDArray[np.int32],
    source_starts: npt.NDArray[np.int64],
    target_characters: npt.NDArray[np.int32],
    target_starts: npt.NDArray[np.int64],
    transducer: _Both,
    unrelated: _Alone,
    related: float,
    counts: tuple[Floats, Floats, Floats],
) -> float:
    """Adds the expected counts of edits in related pairs; returns the weight of these pairs."""
    both, of_source, of_target, stop = transducer
    alone_source, alone_target, alone_stop = unrelated
    reached, ahead = np.zeros((LONGEST + 1, LONGEST + 1)), np.zeros((LONGEST + 1, LONGEST + 1))
    mass = 0.0
    for pair in range(len(sources)):
        source = source_characters[source_starts[sources[pair]] : source_starts[sources[pair] + 1]]
        target = target_characters[target_starts[targets[pair]] : target_starts[targets[pair] + 1]]
        together = related * _forward(source, target, transducer, reached)
        apart = (1 - related) * alone_stop * alone_stop
        for character in source:
            apart *= alone_source[character]
        for character in target:
            apart *= alone_target[character]
        weight = weights[pair] * together / (together + apart)
        mass += weight
        if weight < 1e-3 * weights[pair]:
            continue
        scale = weight * related / together
        for i in range(len(source), -1, -1):
            for j in range(len(target), -1, -1):
                rest = stop if i == len(source) and j == len(target) else 0.0
                here = reached[i, j] * scale
                if i < len(source) and j < len(target):
                    step = both[source[i], target[j]] * ahead[i + 1, j + 1]
                    counts[0][source[i], target[j]] += here * step
                    rest += step
                if i < len(source):
                    step = of_source[source[i]] * ahead[i + 1, j]
                    counts[1][source[i]] += here * step
                    rest += step
                if j < len(target):
                    step = of_target[target[j]] * ahead[i, j + 1]
                    counts[2][target[j]] += here * step
                    rest += step
                ahead[i, j] = rest
    return mass
