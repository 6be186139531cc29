"""Batches of sentences with words to predict: masked ones, or each from those before it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.fill_rows import Indices
from regard.data.sentence_batches import SentenceBatches
from regard.data.sentences import NumberedSentences, Sentences
from regard.tokens.vocabulary import UNKNOWN


@dataclass(frozen=True)
class MaskedBatch:
    """Sentences as a model reads them, and the words to predict. There may be empty rows after those of the examples,
    to fill a shape."""

    sentences: Sentences
    words: Int[Tensor, "B S"]
    """The original words, by number."""
    wanted: Bool[Tensor, "B S"]
    """True for the words to predict."""
    count: int
    """Number of words to predict: the normalizer of the summed loss."""
    examples: tuple[int, ...]
    """Index of each row in the corpus; empty rows have none."""

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.words), device=self.words.device)[rank::world]
        wanted = self.wanted[chosen]
        return replace(
            self,
            sentences=self.sentences.select(chosen),
            words=self.words[chosen],
            wanted=wanted,
            count=int(wanted.sum()),
            examples=self.examples[rank::world],
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        sentences = self.sentences.map(function)
        return replace(self, sentences=sentences, words=function(self.words), wanted=function(self.wanted))

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


def mask(sentences: Sentences, masked: Bool[Tensor, "B S"]) -> Sentences:
    """Sentences with some words replaced by UNKNOWN and without their spelling."""
    forms = None if sentences.forms is None else sentences.forms.masked_fill(masked, 0)
    return replace(sentences, tokens=sentences.tokens.masked_fill(masked, UNKNOWN), forms=forms)


@dataclass(frozen=True)
class Masking:
    """Selects the words to predict, and those of them to mask: a function of (seed, epoch, example, place)."""

    guessable: int
    """Words from this number on are never predicted, and neither are unknown ones."""
    share: float | None
    """Share of words to predict; None for all of them, each from those before it."""
    kept: float = 0.0
    """Share of these that are not masked."""
    seed: int = 0

    def batch(
        self, numbered: NumberedSentences, chosen: Indices, shape: tuple[int, int] | None = None, epoch: int = 0
    ) -> MaskedBatch:
        """A batch of some sentences, filled up with empty ones to a shape of (rows, width) if one is given."""
        sentences = numbered.pick(chosen, shape)
        words = sentences.tokens
        wanted = sentences.keep & (words != UNKNOWN) & (words < self.guessable)
        if self.share is not None:
            drawn = torch.ones(words.shape, dtype=torch.float64)
            drawn[: len(chosen)] = torch.from_numpy(self._draw(chosen, words.shape[1], epoch))
            wanted &= drawn < self.share
            sentences = mask(sentences, wanted & (drawn >= self.kept * self.share))
        return MaskedBatch(sentences, words, wanted, int(wanted.sum()), tuple(chosen.tolist()))

    def _draw(self, examples: Indices, width: int, epoch: int) -> npt.NDArray[np.float64]:
        """A number between 0 and 1 for each place of each example."""
        steps = np.random.SeedSequence((self.seed & 0xFFFF_FFFF_FFFF_FFFF, epoch)).generate_state(3, np.uint64)
        # Odd steps do not collide, and the finalizer of SplitMix64 (Steele et al. 2014) decorrelates neighbors.
        z = steps[0] + examples.astype(np.uint64)[:, None] * (steps[1] | np.uint64(1))
        z = z + np.arange(width, dtype=np.uint64) * (steps[2] | np.uint64(1))
        for shift, factor in ((30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        shares: npt.NDArray[np.float64] = (z ^ (z >> np.uint64(31))) / 2.0**64
        return shares


class MaskedBatches(SentenceBatches[MaskedBatch]):
    """An endless stream of training batches, with different words to predict in each epoch."""

    def __init__(
        self, numbered: NumberedSentences, masking: Masking, *, seed: int, batch_tokens: int, shapes: int = 0
    ) -> None:
        self._numbered, self._masking = numbered, masking
        pick = partial(masking.batch, numbered)
        super().__init__(numbered.lengths, pick, seed=seed, batch_tokens=batch_tokens, shapes=shapes)

    def _made(self, epoch: int, chosen: Indices, shape: tuple[int, int] | None) -> MaskedBatch:
        return self._masking.batch(self._numbered, chosen, shape, epoch)
