"""Batches of sentences of words, within a budget of words, for every task that reads them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from regard.data import batches
from regard.data.batches import Batches, plan_batches
from regard.data.fill_rows import Indices
from regard.data.shapes import Shapes
from regard.errors import DataError

B = TypeVar("B")
Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shard:
    """Sentences that are batched together."""

    epoch: int
    examples: Indices


class SentenceBatches(Batches[Shard, B], Generic[B]):
    """An endless stream of training batches. `pick` makes a batch from the indices of sentences and, with `shapes`,
    a shape (rows, width) to pad to.

    A batch has at most `batch_tokens` words: rows × longest sentence, padding counted. A longer sentence is a
    batch by itself.
    """

    def __init__(
        self,
        lengths: Lengths,
        pick: Callable[[Indices, tuple[int, int] | None], B],
        *,
        seed: int,
        batch_tokens: int,
        shapes: int = 0,
    ) -> None:
        if not len(lengths):
            raise DataError("there is no training sentence")
        super().__init__(
            len(lengths), seed, int(batches.BATCHES_IN_SHARD * batch_tokens / max(float(lengths.mean()), 1))
        )
        self._lengths, self._pick, self._batch_tokens = lengths, pick, batch_tokens
        self._shapes = Shapes(lengths, shapes, batch_tokens) if shapes else None
        self.tokens = int(lengths.sum())
        """Words of all sentences."""

    def _shard(self, epoch: int, chosen: npt.NDArray[np.uint32]) -> Shard:
        return Shard(epoch, chosen.astype(np.int64))

    def _plan(self, shard: Shard) -> list[Indices]:
        return plan_sentences(self._lengths[shard.examples], self._batch_tokens, self._shapes)

    def _batch(self, shard: Shard, rows: Indices) -> B:
        chosen = shard.examples[rows]
        if self._shapes is None:
            return self._made(shard.epoch, chosen, None)
        width = int(self._shapes.widths_of(int(self._lengths[chosen].max())))
        return self._made(shard.epoch, chosen, (self._shapes.rows_of(width), width))

    def _made(self, epoch: int, chosen: Indices, shape: tuple[int, int] | None) -> B:
        """The batch of some sentences; in most tasks the same in every epoch."""
        return self._pick(chosen, shape)


def plan_sentences(lengths: Lengths, batch_tokens: int, shapes: Shapes | None = None) -> list[Indices]:
    """Groups sentences into batches by length: neighbors in length, as many as the budget allows."""
    # Pairs have an end-of-sentence mark, which sentences of words do not.
    return plan_batches(lengths - 1, lengths - 1, batch_tokens, shapes)
