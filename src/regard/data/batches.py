"""Batches within a token budget, bucketed by length, in an order that is a pure function of seed and position.

An epoch is a permutation of the examples, drawn from (seed, epoch). It is cut into shards of bounded size; a shard is
tokenized, sorted by length, cut into batches, and its batches are shuffled. So a run resumes at any position by
computing one shard, and several processes that compute the same batches can divide their rows (`PairBatch.rows`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from regard.data.batch import PairBatch
from regard.data.bin_packing import Packing
from regard.data.copying import Copying
from regard.data.fill_rows import Indices
from regard.data.packing import PackedBatch, PackedRows
from regard.data.shapes import Shapes
from regard.errors import DataError
from regard.tokens.rows import Rows
from regard.tokens.tokenizer import Tokenizer

BATCHES_IN_SHARD = 128
"""Average-sized batches per shard: enough to sort well by length, few enough to compute at once."""

PACKED_IN_SHARD = 64
"""The same for packed batches, which need no sorting; only the last of a shard is not full."""


@dataclass(frozen=True, order=True)
class CorpusPosition:
    """A position between two batches of a run: passes finished, shards of this pass finished, batches of this shard."""

    epoch: int = 0
    shard: int = 0
    batch: int = 0

    def as_json(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        return cls(int(values["epoch"]), int(values["shard"]), int(values["batch"]))


class EncodedPairs(Protocol):
    """Pairs as tokens, without special tokens, that can be picked by index; the text too, for sampling subwords."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Tokens of source and target of each pair, one row a pair."""
        ...

    def sides(self, examples: Indices) -> tuple[Rows, Rows]:
        """Source and target tokens of some pairs, in the order given."""
        ...

    def text(self, index: int) -> tuple[str, str]:
        """Source and target text of a pair."""
        ...


S = TypeVar("S")
B = TypeVar("B")


class Batches(ABC, Generic[S, B]):
    """An endless stream of training batches B, made from shards S of each epoch's examples."""

    tokens: int
    """Tokens of all examples, without padding."""

    def __init__(self, count: int, seed: int, shard_size: int) -> None:
        self._count = count
        self._seed = seed & 0xFFFF_FFFF_FFFF_FFFF
        self._shard_size = max(1, shard_size)
        self._planned: dict[tuple[int, int], int] = {}
        """Number of batches of the most recently used shards, by epoch and shard."""

    @abstractmethod
    def _shard(self, epoch: int, chosen: npt.NDArray[np.uint32]) -> S:
        """A shard: examples that are batched together."""

    @abstractmethod
    def _plan(self, examples: S) -> Sequence[Any]:
        """Which examples of a shard go together, in any order."""

    @abstractmethod
    def _batch(self, examples: S, rows: Any) -> B:
        """The batch for one entry of the plan."""

    @property
    def shards(self) -> int:
        """Shards of an epoch."""
        return -(-self._count // self._shard_size)

    def passes(self, position: CorpusPosition) -> float:
        """Passes completed at a position, as a fraction: whole shards count by their examples, a recently used one by
        its batches."""
        first = position.shard * self._shard_size
        examples = min(self._shard_size, self._count - first)
        planned = self._planned.get((position.epoch, position.shard))
        inside = min(1.0, position.batch / planned) if planned else 0.0
        return position.epoch + (first + inside * examples) / self._count

    def from_position(self, position: CorpusPosition) -> Iterator[tuple[B, CorpusPosition]]:
        """An endless stream of batches from a position on, each with the position after it.

        Raises DataError for a position that these data do not have.
        """
        if position.shard >= self.shards:
            raise DataError(no_such(position))
        epoch, shard, first = position.epoch, position.shard, position.batch
        while True:
            order = self._order(epoch)
            while shard < self.shards:
                examples = self._shard(epoch, order[shard * self._shard_size :][: self._shard_size])
                plan = self._plan(examples)
                rng = np.random.default_rng((self._seed, epoch, shard, 1))
                plan = [plan[place] for place in rng.permutation(len(plan))]
                self._note(epoch, shard, len(plan))
                if first >= len(plan):
                    raise DataError(no_such(position))
                for place in range(first, len(plan)):
                    yield self._batch(examples, plan[place]), self._after(epoch, shard, place, len(plan))
                shard, first = shard + 1, 0
            epoch, shard = epoch + 1, 0

    def _note(self, epoch: int, shard: int, batches: int) -> None:
        # More than one, because batches are prefetched.
        kept = list(self._planned.items())[-3:]
        self._planned = {**dict(kept), (epoch, shard): batches}

    def _after(self, epoch: int, shard: int, place: int, batches: int) -> CorpusPosition:
        if place + 1 < batches:
            return CorpusPosition(epoch, shard, place + 1)
        if shard + 1 < self.shards:
            return CorpusPosition(epoch, shard + 1, 0)
        return CorpusPosition(epoch + 1, 0, 0)

    def _order(self, epoch: int) -> npt.NDArray[np.uint32]:
        # Apart from the lengths (eight bytes per pair), all that is in memory of a corpus: four bytes per example, and
        # twice that while the order is drawn.
        return np.random.default_rng((self._seed, epoch)).permutation(np.arange(self._count, dtype=np.uint32))


class PairBatches(Batches["_Shard", PairBatch]):
    """An endless stream of training batches of pairs.

    A batch has at most `batch_tokens` tokens on its longer side: rows × longest row, padding and END counted. A longer
    pair is not dropped, but becomes a batch by itself.

    Subwords are sampled if the settings of a given tokenizer say so, seeded by (seed, epoch, example). A sampled text
    of more than `longest` tokens is replaced by its unsampled version.

    With `shapes`, batches have at most that many shapes (see `Shapes` for exceptions). `packed` puts several pairs into
    each row (`Packing`). With `copying`, batches have the source words as target tokens.
    """

    def __init__(
        self,
        pairs: EncodedPairs,
        *,
        seed: int,
        batch_tokens: int,
        source: Tokenizer | None = None,
        target: Tokenizer | None = None,
        longest: int | None = None,
        shapes: int = 0,
        copying: Copying | None = None,
        packed: bool = False,
    ) -> None:
        if not len(pairs):
            raise DataError("there is no training pair; see the report above for those that were dropped")
        self._pairs = pairs
        self._copying = copying
        self._batch_tokens = batch_tokens
        self._source = source if source is not None and source.settings.dropout else None
        self._target = target if target is not None and target.settings.dropout else None
        self._longest = longest
        longer = np.asarray(pairs.lengths).max(axis=1)
        mean = float(longer.mean()) + 1
        self.tokens = int(longer.sum(dtype=np.int64)) + len(longer)
        """Tokens on the longer side of all pairs, END included and padding excluded."""
        super().__init__(len(pairs), seed, int((PACKED_IN_SHARD if packed else BATCHES_IN_SHARD) * batch_tokens / mean))
        self._shapes = Shapes(longer + 1, shapes, batch_tokens) if shapes and not packed else None
        self.packing = Packing(batch_tokens, longer + 1) if packed else None
        """Packs pairs into rows; None if they are not packed."""

    def _shard(self, epoch: int, chosen: npt.NDArray[np.uint32]) -> "_Shard":
        examples = chosen.astype(np.int64)
        source, target = self._pairs.sides(examples)
        if self._source is not None:
            source = self._source.sampled(source, self._seeds(epoch, 0, chosen), self._longest)
        if self._target is not None:
            target = self._target.sampled(target, self._seeds(epoch, 1, chosen), self._longest)
        if self._copying is None:
            return _Shard(examples, source, target)
        texts = map(self._pairs.text, examples.tolist())
        words, wanted = self._copying.both(source.lists(), target.lists(), texts)
        return _Shard(examples, source, Rows.of(wanted), Rows.of(words))

    def _seeds(self, epoch: int, side: int, examples: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
        """Seeds of the subword sampling of one side of each example."""
        first = np.random.SeedSequence((self._seed, epoch, side)).generate_state(1, np.uint64)
        # Odd steps do not collide within 2 ** 64 examples, and the generator decorrelates neighbors.
        return first + examples.astype(np.uint64) * np.uint64(0xD129_0F3F_2D1B_5E05)

    def _plan(self, examples: "_Shard") -> Sequence[Indices | PackedRows]:
        lengths = examples.source.lengths, examples.target.lengths
        if self.packing is not None:
            return self.packing.plan(*lengths)
        return plan_batches(*lengths, self._batch_tokens, self._shapes)

    def _batch(self, examples: "_Shard", rows: Indices | PackedRows) -> PairBatch:
        if isinstance(rows, PackedRows):
            return PackedBatch.pack(examples.source, examples.target, examples.examples, rows)
        shape = None
        if self._shapes is not None:
            longest = max(int(side.lengths_of(rows).max()) for side in (examples.source, examples.target))
            width = int(self._shapes.widths_of(longest + 1))
            shape = self._shapes.rows_of(width), width
        return PairBatch.pick(examples.source, examples.target, rows, examples.examples, shape, examples.words)


@dataclass(frozen=True)
class _Shard:
    """Pairs that are batched together."""

    examples: Indices
    source: Rows
    target: Rows
    words: Rows | None = None
    """The source tokens as target tokens, for models that copy."""


def evaluation_batches(
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    batch_tokens: int,
    words: Sequence[list[int]] | None = None,
    *,
    packing: Packing | None = None,
) -> Iterator[PairBatch]:
    """All pairs once, within the same budget: shortest first, or packed, which ignores `words`. The `examples` of a
    batch are the indices of its pairs."""
    if packing is not None:
        sides, examples = (Rows.of(sources), Rows.of(targets)), np.arange(len(sources))
        plan = packing.plan(*(side.lengths for side in sides))
        yield from (PackedBatch.pack(*sides, examples, rows) for rows in plan)
        return
    for rows in plan_batches([len(row) for row in sources], [len(row) for row in targets], batch_tokens):
        chosen = rows.tolist()
        copied = None if words is None else [words[row] for row in chosen]
        yield PairBatch.of([sources[row] for row in chosen], [targets[row] for row in chosen], chosen, words=copied)


def plan_batches(
    sources: npt.ArrayLike, targets: npt.ArrayLike, batch_tokens: int, shapes: Shapes | None = None
) -> list[Indices]:
    """Groups rows into batches by length: neighbors in length, as many as the budget allows.

    Rows of equal lengths keep their order, which must therefore already be random for training.
    """
    lengths = np.stack([np.asarray(targets, dtype=np.int64), np.asarray(sources, dtype=np.int64)])
    longer = lengths.max(axis=0) + 1
    if shapes is not None:
        longer = shapes.widths_of(longer)
    # Sorted by the longer side first, so that the last row of a batch determines its padded size.
    order = np.lexsort((lengths[1], lengths[0], longer))
    plan, first = [], 0
    for place, width in enumerate(longer[order].tolist()):
        if place > first and (place + 1 - first) * width > batch_tokens:
            plan.append(order[first:place])
            first = place
    return [*plan, order[first:]] if len(order) else plan


def no_such(position: CorpusPosition) -> str:
    """The error for a position that the data do not have."""
    place = f"epoch {position.epoch}, shard {position.shard}, batch {position.batch}"
    return (
        f"the training data have no {place}, where the run is to go on, so they are not those it began with; "
        "restore the data and their settings, or start a new run"
    )
