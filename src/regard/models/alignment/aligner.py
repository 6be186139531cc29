"""A trained aligner: expected counts of pairs of words, from which the links of any pair of sentences are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.errors import ModelError
from regard.models.alignment import hidden_markov
from regard.models.alignment.lexicon import Expected, Related, Words, stem_of, summed, translation_probabilities
from regard.models.alignment.spelling import Transducer, alphabet_of
from regard.models.alignment.word_pairs import ParallelText, Sentence
from regard.recipe.alignment import HmmAligner

SIDES = ("source", "target")


KnownWords = tuple[tuple[str, ...], tuple[str, ...]]
"""The words of source and target that an aligner was trained on."""


@dataclass(frozen=True)
class Learned:
    """The parameters of a trained aligner, with words numbered as in the training text."""

    keys: npt.NDArray[np.int64]
    """Source word · number of target words + target word of each pair with a count, sorted."""
    counts: npt.NDArray[np.float32]
    occurrences: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    """Occurrences of the words of each side."""
    alone: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    """Expected number of times that they are aligned to no word."""
    jumps: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    """Jumps between source words from one target word to the next, and the reverse."""
    spelling: Transducer | None


@dataclass(frozen=True)
class Posteriors:
    """The posterior probabilities of the links of one pair of sentences, and its log-likelihood, in both directions."""

    forward: Float[np.ndarray, "T S"]
    """For each target word, over the source words; the remainder to one is the probability of no link."""
    backward: Float[np.ndarray, "S T"]
    log_likelihoods: tuple[float, float]


class StatisticalAligner(nn.Module):
    """A hidden Markov model for each direction, with a shared lexicon of expected counts."""

    keys: Int64[Tensor, " pairs"]
    counts: Float[Tensor, " pairs"]

    def __init__(self, settings: HmmAligner, words: KnownWords, learned: Learned) -> None:
        super().__init__()
        self.settings, self.words = settings, words
        self.alphabets = alphabet_of(words[0]), alphabet_of(words[1])
        self._put("keys", learned.keys)
        self._put("counts", learned.counts)
        for place, side in enumerate(SIDES):
            self._put(f"{side}_occurrences", learned.occurrences[place])
            self._put(f"{side}_alone", learned.alone[place])
            self._put(f"{side}_jumps", learned.jumps[place])
        if (spelling := learned.spelling) is not None:
            self._put("spelling_both", spelling.both)
            self._put("spelling_source", spelling.source)
            self._put("spelling_target", spelling.target)
            self._put("spelling_stop", np.array([spelling.stop]))

    def _put(self, name: str, values: npt.NDArray[np.generic]) -> None:
        self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(values)))

    @classmethod
    def untrained(cls, settings: HmmAligner, words: KnownWords) -> "StatisticalAligner":
        """An untrained aligner; `make_room` prepares it for weights."""
        sizes = [len(each) for each in words]
        letters = [len(each) + 1 for each in map(alphabet_of, words)]
        spelling = Transducer(np.zeros(letters), np.zeros(letters[0]), np.zeros(letters[1]), 1.0)
        jumps = np.ones(2 * hidden_markov.FARTHEST + 1, np.float32)
        none = np.zeros(0, np.int64), np.zeros(0, np.float32)
        seen = np.zeros(sizes[0], np.int64), np.zeros(sizes[1], np.int64)
        alone = np.zeros(sizes[0], np.float32), np.zeros(sizes[1], np.float32)
        learned = Learned(*none, seen, alone, (jumps, jumps.copy()), spelling if settings.spelling else None)
        return cls(settings, words, learned)

    def make_room(self, weights: Mapping[str, Tensor]) -> None:
        """Resizes the counts to those of saved weights, as their number is known only after training."""
        for name in ("keys", "counts"):
            if name not in weights or weights[name].ndim != 1:
                raise ModelError("these are not the weights of an aligner; use the recipe that it was trained with")
            setattr(self, name, torch.empty(weights[name].shape, dtype=getattr(self, name).dtype))

    def posteriors(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[Posteriors]:
        """The link probabilities of pairs of sentences, with words in the form of the training text."""
        text = ParallelText.of(sources, targets)
        links = np.zeros((len(text.cells), 2), np.float32)
        scores = np.zeros((len(text), 2))
        in_order = self.settings.order_rounds > 0
        known = self._translations(text), self._without(text), self._of_both("jumps"), self.settings.alone
        Reader(text, *known, in_order).read(links=links, scores=scores)
        found = []
        for number, (start, end) in enumerate(pairwise(text.starts.tolist())):
            shape = len(targets[number]), len(sources[number])
            # Single precision may exceed one slightly.
            forward, backward = (np.minimum(links[start:end, side].reshape(shape), 1) for side in (0, 1))
            found.append(Posteriors(forward, backward.T, (float(scores[number, 0]), float(scores[number, 1]))))
        return found

    @property
    def occurrences(self) -> tuple[Int64[np.ndarray, " words"], ...]:
        """How often the words of source and target occur in the training text."""
        return tuple(getattr(self, f"{side}_occurrences").numpy() for side in SIDES)

    def _of_both(self, what: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        source, target = (getattr(self, f"{side}_{what}").numpy() for side in SIDES)
        return source, target

    @cached_property
    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        source, target = ({word: number for number, word in enumerate(words)} for words in self.words)
        return source, target

    @cached_property
    def _known(self) -> "tuple[_KnownSide, _KnownSide]":
        keys, counts = self.keys.numpy(), self.counts.numpy()
        pairs = np.divmod(keys, max(len(self.words[1]), 1))
        source, target = (
            _KnownSide.of(words, occurrences, of_pairs, counts, self.settings.stem)
            for words, occurrences, of_pairs in zip(self.words, self.occurrences, pairs, strict=True)
        )
        return source, target

    @cached_property
    def _stems(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The sorted keys of the pairs of stems with a count, and their counts."""
        source, target = np.divmod(self.keys.numpy(), max(len(self.words[1]), 1))
        one, other = self._known
        keys = one.stems[source] * len(other.stem_numbers) + other.stems[target]
        found, places = np.unique(keys, return_inverse=True)
        return found, summed(places, self.counts.numpy(), len(found))

    def _translations(self, text: ParallelText) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        known, pairs = self._known, (text.sources, text.targets)
        sides = text.source, text.target
        numbers = [_find(self.numbers[place], side.words) for place, side in enumerate(sides)]
        occurrences = [_taken(one.occurrences, found) for one, found in zip(known, numbers, strict=True)]
        source, target = (
            Words.of(
                side.words,
                occurrences[place],
                self.settings.stem,
                self.alphabets[place],
                (known[place].stem_occurrences, known[place].total),
            )
            for place, side in enumerate(sides)
        )
        of_sources, of_targets = (_taken(one.totals, found) for one, found in zip(known, numbers, strict=True))
        nothing = np.zeros(0)
        stems: tuple[npt.NDArray[np.float64], ...] = (nothing, nothing, nothing)
        if self.settings.stem:
            own = [
                _find(known[place].stem_numbers, [stem_of(word, self.settings.stem) for word in side.words])
                for place, side in enumerate(sides)
            ]
            stem_keys = _keys(own[0][pairs[0]], own[1][pairs[1]], len(known[1].stem_numbers))
            stem_totals = [
                _taken(one.stem_totals, found)[each] for one, found, each in zip(known, own, pairs, strict=True)
            ]
            stems = _looked_up(*self._stems, stem_keys), stem_totals[0], stem_totals[1]
        keys = _keys(numbers[0][pairs[0]], numbers[1][pairs[1]], len(self.words[1]))
        counts = Expected(
            _looked_up(self.keys.numpy(), self.counts.numpy(), keys), of_sources[pairs[0]], of_targets[pairs[1]], *stems
        )
        related: Related | None = None
        if (spelling := self._spelling) is not None:
            related = spelling.probabilities(source.spelled, target.spelled, pairs)
        return translation_probabilities(pairs, (source, target), counts, related, self.settings)

    def _without(self, text: ParallelText) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The probability of each word given that it has no link, target words first."""
        found = []
        for place, (side, alone) in enumerate(zip((text.source, text.target), self._of_both("alone"), strict=True)):
            numbers, known = _find(self.numbers[place], side.words), self._known[place]
            share = np.maximum(_taken(known.occurrences, numbers), 1.0) / known.total
            found.append(without_partner(_taken(alone, numbers), share, float(alone.sum()), self.settings))
        return found[1], found[0]

    @cached_property
    def _spelling(self) -> Transducer | None:
        if not self.settings.spelling:
            return None
        both, source, target, stop = (
            getattr(self, f"spelling_{name}") for name in ("both", "source", "target", "stop")
        )
        return Transducer(both.numpy(), source.numpy(), target.numpy(), float(stop[0]))


@dataclass(frozen=True)
class _KnownSide:
    """Lookup tables for the words of one side of the training text."""

    occurrences: npt.NDArray[np.int64]
    totals: npt.NDArray[np.float64]
    """Expected translations of each word."""
    total: float
    stems: npt.NDArray[np.int64]
    stem_numbers: dict[str, int]
    stem_occurrences: dict[str, float]
    stem_totals: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        occurrences: npt.NDArray[np.int64],
        pairs: npt.NDArray[np.int64],
        counts: npt.NDArray[np.float32],
        letters: int,
    ) -> "_KnownSide":
        numbers: dict[str, int] = {}
        stems = np.array([numbers.setdefault(stem_of(word, letters), len(numbers)) for word in words], np.int64)
        totals = summed(pairs, counts, len(words))
        seen = dict(zip(numbers, summed(stems, occurrences, len(numbers)).tolist(), strict=True))
        of_stems = summed(stems, totals, len(numbers))
        return cls(occurrences, totals, max(float(occurrences.sum()), 1.0), stems, numbers, seen, of_stems)


@dataclass(frozen=True)
class Reader:
    """Computes link posteriors of a parallel text, given probabilities of translations, unaligned words and jumps."""

    text: ParallelText
    translations: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    without: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    """Of target words, and of source words."""
    jumps: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    alone: float
    in_order: bool = True

    def read(
        self,
        first: int = 0,
        last: int | None = None,
        *,
        links: npt.NDArray[np.float32] = np.empty((0, 2), np.float32),
        scores: npt.NDArray[np.float64] = np.empty((0, 2)),
        counts: "Counts | None" = None,
        sharpness: float = 1.0,
    ) -> None:
        """Reads the pairs of sentences from `first` up to `last`; fills those of `links`, `scores`, `counts` given."""
        text, none = self.text, np.empty(0)
        hidden_markov.read(
            text.cells,
            text.starts,
            text.source.numbers,
            text.source.starts,
            text.target.numbers,
            text.target.starts,
            *self.translations,
            *self.without,
            *self.jumps,
            self.alone,
            self.in_order,
            first,
            len(text) if last is None else last,
            links,
            scores,
            sharpness,
            *((np.empty(0, np.float32), none, none, none, none) if counts is None else counts.arrays),
        )


@dataclass(frozen=True)
class Counts:
    """Expected counts of a text: pairs of words, unaligned words, and jumps in both directions."""

    pairs: npt.NDArray[np.float32]
    source_alone: npt.NDArray[np.float64]
    target_alone: npt.NDArray[np.float64]
    forward_jumps: npt.NDArray[np.float64]
    backward_jumps: npt.NDArray[np.float64]

    @classmethod
    def of(cls, text: ParallelText) -> "Counts":
        words, jumps = (len(text.source.words), len(text.target.words)), 2 * hidden_markov.FARTHEST + 1
        return cls(np.zeros(len(text.sources), np.float32), *map(np.zeros, (*words, jumps, jumps)))

    @property
    def arrays(self) -> tuple[npt.NDArray[np.floating], ...]:
        return self.pairs, self.source_alone, self.target_alone, self.forward_jumps, self.backward_jumps


def without_partner(
    alone: npt.NDArray[np.floating], share: npt.NDArray[np.float64], total: float, settings: HmmAligner
) -> npt.NDArray[np.float32]:
    """The probability of words that have no link, given how often they are expected to have none."""
    found: npt.NDArray[np.float32] = ((alone + settings.strength * share) / (total + settings.strength)).astype(
        np.float32
    )
    return found


def _find(numbers: Mapping[str, int], words: Sequence[str]) -> npt.NDArray[np.int64]:
    """Numbers of words, −1 for unknown ones."""
    return np.array([numbers.get(word, -1) for word in words], np.int64)


def _taken(values: npt.NDArray[np.generic], places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Values at places, 0 at −1."""
    found: npt.NDArray[np.float64] = np.append(values, 0).astype(np.float64)[places]
    return found


def _keys(sources: npt.NDArray[np.int64], targets: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Keys of pairs, −1 where either word is unknown."""
    return np.where((sources < 0) | (targets < 0), -1, sources * size + targets)


def _looked_up(
    keys: npt.NDArray[np.int64], values: npt.NDArray[np.floating], wanted: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The values of keys; 0 for missing ones."""
    if not len(keys):
        return np.zeros(len(wanted))
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0.0).astype(np.float64)
