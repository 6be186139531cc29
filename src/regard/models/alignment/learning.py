"""Training an aligner: expectation–maximization of both directions, which learn to agree (Liang et al. 2006)."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from regard.models.alignment import hidden_markov
from regard.models.alignment.aligner import Counts, Learned, Reader, StatisticalAligner, without_partner
from regard.models.alignment.lexicon import TrainingLexicon, Words
from regard.models.alignment.spelling import Transducer, alphabet_of
from regard.models.alignment.word_pairs import ParallelText, Side
from regard.recipe.alignment import HmmAligner

AT_ONCE = 500
"""Pairs of sentences between progress reports."""
LEAST = 1e-3
"""Pairs of words with lower counts are pruned."""
_FOUND = 0.3
"""Minimum count of pairs of words from which spelling is learned."""


def learn(
    text: ParallelText, settings: HmmAligner, on_progress: Callable[[str, int], None] = lambda *_: None
) -> StatisticalAligner:
    """An aligner of this text. `on_progress` gets the current activity and the number of pairs read."""
    source, target = text.source, text.target
    pairs, sizes = (text.sources, text.targets), (len(source.words), len(target.words))
    alphabets = alphabet_of(source.words), alphabet_of(target.words)
    words = _words(source, alphabets[0], settings), _words(target, alphabets[1], settings)
    lexicon = TrainingLexicon(pairs, words, settings)
    spelling: Transducer | None = None
    jumps = _even(2 * hidden_markov.FARTHEST + 1), _even(2 * hidden_markov.FARTHEST + 1)
    without = _even(sizes[1]), _even(sizes[0])
    rounds = settings.word_rounds + settings.order_rounds
    for number in range(rounds):
        in_order = number >= settings.word_rounds
        counts = Counts.of(text)
        reader = Reader(text, lexicon.translations, without, jumps, settings.alone, in_order)
        what = f"round {number + 1} of {rounds}, {'with' if in_order else 'without'} word order"
        for first in range(0, len(text), AT_ONCE):
            last = min(first + AT_ONCE, len(text))
            reader.read(first, last, counts=counts, sharpness=settings.sharpness if in_order else 1.0)
            on_progress(what, last)
        if in_order:
            jumps = _shares(counts.forward_jumps), _shares(counts.backward_jumps)
        if settings.spelling and number == settings.word_rounds // 2:
            good = np.flatnonzero(counts.pairs > _FOUND)
            some = pairs[0][good], pairs[1][good]
            weights = np.minimum(counts.pairs[good], 1).astype(np.float64)
            spelling = Transducer.learn(alphabets, words[0].spelled, words[1].spelled, some, weights)
            lexicon.relate(spelling)
        lexicon.estimate(counts.pairs)
        without = (
            _without(words[1], counts.target_alone, settings),
            _without(words[0], counts.source_alone, settings),
        )
    kept = np.flatnonzero(counts.pairs >= LEAST)
    keys = text.sources[kept].astype(np.int64) * sizes[1] + text.targets[kept]
    rising = np.argsort(keys)
    learned = Learned(
        keys[rising],
        counts.pairs[kept][rising],
        (source.occurrences, target.occurrences),
        (counts.source_alone.astype(np.float32), counts.target_alone.astype(np.float32)),
        jumps,
        spelling,
    )
    return StatisticalAligner(settings, (source.words, target.words), learned)


def _words(side: Side, alphabet: str, settings: HmmAligner) -> Words:
    return Words.of(side.words, side.occurrences.astype(np.float64), settings.stem, alphabet)


def _without(words: Words, alone: npt.NDArray[np.float64], settings: HmmAligner) -> npt.NDArray[np.float32]:
    return without_partner(alone, words.occurrences / words.total, float(alone.sum()), settings)


def _even(size: int) -> npt.NDArray[np.float32]:
    return np.full(size, 1 / max(size, 1), np.float32)


def _shares(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    shares: npt.NDArray[np.float64] = (counts + 1) / (counts + 1).sum()
    return shares.astype(np.float32)
