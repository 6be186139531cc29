"""Several pairs in one row, one after another, so that hardly anything is padding (Krell et al. 2021).

Rows have one of very few widths, so that batches have one of very few shapes; which sequence of its row a token
belongs to, and its place there, come with the batch, and a model that packs lets no sequence see another. Pairs need
not be sorted by length for it: a batch is a random sample of the corpus.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import Padded, PairBatch
from regard.tokens.vocabulary import BEGIN, END, PAD

WIDTH = 128
"""Tokens of a row; rows for longer sequences are twice as wide, and so on."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Which sequence of its row each token belongs to, and its place in it.

    Padding belongs to none of a source (−1); that of a target, which comes last, so that nothing sees it, to the first.
    """

    sequence: Int[Tensor, "B T"]
    place: Int[Tensor, "B T"]

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, sequence=function(self.sequence), place=function(self.place))


@dataclass(frozen=True)
class Packed(Padded):
    """Sources of which several stand in a row; it knows too how their targets stand."""

    own: Layout
    target: Layout

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        return self.map(lambda tensor: tensor[rows])

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        tokens, lengths = function(self.tokens), function(self.lengths)
        own, target = self.own.map(function), self.target.map(function)
        return replace(self, tokens=tokens, lengths=lengths, own=own, target=target)


@dataclass(frozen=True)
class PackedBatch(PairBatch):
    """Pairs of which several stand in a row; `lengths` of source and target are those of whole rows."""

    packed: tuple[tuple[int, ...], ...]
    """Index in the corpus of each pair, row by row; `examples` has them all."""

    @classmethod
    def pack(
        cls,
        sources: Sequence[list[int]],
        targets: Sequence[list[int]],
        examples: Sequence[int],
        rows: Sequence[Sequence[int]],
        shape: tuple[int, int],
    ) -> Self:
        """A batch of that many (rows, width) from token lists without special tokens; `rows` says which go where.

        An empty row has an empty source, for attention to have something to look at, and nothing is wanted of it.
        """
        nothing: list[list[int]] = [[]]
        of_rows = [*rows, *[[]] * (shape[0] - len(rows))]
        counts = [max(1, len(row)) for row in of_rows]
        source = [[*tokens, END] for row in of_rows for tokens in ([sources[one] for one in row] or nothing)]
        target = [tokens for row in of_rows for tokens in ([targets[one] for one in row] or nothing)]
        own, of_source = _Places(source, counts, shape), _Places([[BEGIN, *tokens] for tokens in target], counts, shape)
        lengths = of_source.lengths.copy()
        lengths[len(rows) :] = 0
        wanted = of_source.put([[*tokens, END] for tokens in target])
        packed = tuple(tuple(examples[one] for one in row) for row in rows)
        return cls(
            source=Packed(own.tokens, torch.from_numpy(own.lengths), own.layout(-1), of_source.layout(0)),
            given=Padded(of_source.tokens, torch.from_numpy(of_source.lengths)),
            wanted=Padded(wanted, torch.from_numpy(lengths)),
            count=int(lengths.sum()),
            examples=tuple(chain.from_iterable(packed)),
            packed=packed,
        )

    def rows(self, rank: int, world: int) -> Self:
        packed = self.packed[rank::world]
        return replace(super().rows(rank, world), packed=packed, examples=tuple(chain.from_iterable(packed)))

    def apart(self) -> PairBatch:
        assert isinstance(self.source, Packed)
        sources, targets = [], []
        for row, pairs in enumerate(self.packed):
            for number in range(len(pairs)):
                sources.append(self.source.tokens[row][self.source.own.sequence[row] == number].tolist()[:-1])
                mine = (self.source.target.sequence[row] == number) & self.wanted.keep[row]
                targets.append(self.wanted.tokens[row][mine].tolist()[:-1])
        return PairBatch.of(sources, targets, list(self.examples))


class _Places:
    """Where the tokens of sequences come to stand: so many of them one after another in each row."""

    def __init__(self, sequences: Sequence[list[int]], counts: Sequence[int], shape: tuple[int, int]) -> None:
        self.shape = shape
        many = np.asarray(counts, dtype=np.int64)
        self._sizes = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
        row = np.repeat(np.arange(len(many)), many)
        first_of_row = np.cumsum(many) - many
        start = np.cumsum(self._sizes) - self._sizes
        self._number = np.arange(len(sequences)) - first_of_row[row]
        self._place = np.arange(int(self._sizes.sum())) - np.repeat(start, self._sizes)
        self._where = np.repeat(row * shape[1] + start - start[first_of_row][row], self._sizes) + self._place
        self.lengths = np.bincount(row, self._sizes, shape[0]).astype(np.int64)
        self.tokens = self.put(sequences)

    def put(self, sequences: Sequence[list[int]]) -> Int[Tensor, "B T"]:
        """Tokens of sequences of these lengths where they belong."""
        return self._spread(np.fromiter(chain.from_iterable(sequences), dtype=np.int64), PAD)

    def layout(self, padding: int) -> Layout:
        return Layout(self._spread(np.repeat(self._number, self._sizes), padding), self._spread(self._place, 0))

    def _spread(self, values: Indices, otherwise: int) -> Tensor:
        found = np.full(self.shape, otherwise, dtype=np.int64)
        found.reshape(-1)[self._where] = values
        return torch.from_numpy(found)


@dataclass(frozen=True)
class PackedRows:
    """Which pairs stand in which row of a batch, and its shape."""

    rows: list[list[int]]
    shape: tuple[int, int]


class Packing:
    """Plans batches of packed rows: at most `batch_tokens` tokens on each side, padding and END counted.

    A pair that is longer than that by itself is never lost: it is a batch of its own.
    """

    def __init__(self, batch_tokens: int) -> None:
        self.batch_tokens = batch_tokens

    def plan(self, sources: Sequence[int], targets: Sequence[int]) -> list[PackedRows]:
        """Which pairs go together, given their lengths without END, in an order that must be random already."""
        lengths = np.stack([np.asarray(sources, dtype=np.int64), np.asarray(targets, dtype=np.int64)], axis=1) + 1
        longer = lengths.max(axis=1)
        too_long = np.flatnonzero(longer > self.batch_tokens).tolist()
        plan = [PackedRows([[one]], (1, int(longer[one]))) for one in too_long]
        waiting = np.flatnonzero(longer <= self.batch_tokens)
        widths = self._widths(int(longer[waiting].max(initial=1)))
        # Those that need wide rows first; shorter ones fill these rows up.
        for width, narrower in zip(reversed(widths), [*reversed(widths[:-1]), 0], strict=True):
            while (needing := longer[waiting] > narrower).any():
                shape = self.batch_tokens // width, width
                rows, waiting = _filled(np.concatenate([waiting[needing], waiting[~needing]]), lengths, shape)
                plan.append(PackedRows(rows, shape))
        return plan

    def _widths(self, longest: int) -> list[int]:
        widths = [min(WIDTH, self.batch_tokens)]
        while widths[-1] < longest:
            widths.append(min(2 * widths[-1], self.batch_tokens))
        return widths


def _filled(waiting: Indices, lengths: Indices, shape: tuple[int, int]) -> tuple[list[list[int]], Indices]:
    """The rows of a batch, and who still waits. As many as there may be room for are put, longest first, into the first
    row that has room for them."""
    count, width = shape
    head = waiting[: count * width]
    fitting = max(1, int(np.searchsorted(lengths[head].cumsum(axis=0).max(axis=1), count * width, side="right")))
    chosen = head[:fitting]
    chosen = chosen[np.argsort(-lengths[chosen].max(axis=1), kind="stable")]
    rows: list[list[int]] = [[] for _ in range(count)]
    room, left = np.full((count, 2), width), []
    for one in chosen.tolist():
        fits = (room >= lengths[one]).all(axis=1)
        row = int(fits.argmax())
        if fits[row]:
            rows[row].append(one)
            room[row] -= lengths[one]
        else:
            left.append(one)
    return [row for row in rows if row], np.concatenate([np.asarray(left, dtype=np.int64), waiting[fitting:]])
