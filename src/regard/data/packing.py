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
