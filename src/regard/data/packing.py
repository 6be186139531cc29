"""Several pairs in one row, one after another, so that hardly anything is padding (Krell et al. 2021).

Rows have one of very few widths, so that batches have one of very few shapes; which sequence of its row a token
belongs to, and its place there, come with the batch, and a model that packs lets no sequence see another. Pairs need
not be sorted by length for it: a batch is a random sample of the corpus.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Self

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import Padded, PairBatch
from regard.data.placing import NOTHING, Indices, number, put
from regard.tokens.rows import Rows
from regard.tokens.vocabulary import BEGIN, END, PAD


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
class PackedRows:
    """Which pairs stand in which row of a batch, and its shape."""

    pairs: Indices
    """Row by row."""
    ends: Indices
    """Where those of each row end."""
    shape: tuple[int, int]


@dataclass(frozen=True)
class PackedBatch(PairBatch):
    """Pairs of which several stand in a row; `lengths` of source and target are those of whole rows.

    All its tensors are parts of two, so that it can be sent as a whole.
    """

    tables: Int[Tensor, "B 7 T"]
    """Tokens of the source, those given and those wanted; sequences and places of the source, and of the target."""
    lengths: Int[Tensor, "B 3"]
    """Of the source, of what is given and of what is wanted."""
    ends: tuple[int, ...]
    """Where the pairs of each row end in `examples`."""

    @classmethod
    def pack(cls, sources: Rows, targets: Rows, examples: Indices, packed: PackedRows) -> Self:
        """A batch of the tokens of pairs, without special tokens, of which `packed` says which go where.

        An empty row has an empty source, for attention to have something to look at, and nothing is wanted of it.
        """
        count, width = packed.shape
        tables, lengths = np.full((count, 7, width), PAD, dtype=np.int64), np.zeros((count, 3), dtype=np.int64)
        chosen, ends = packed.pairs, packed.ends
        for table, (side, before, after) in enumerate(
            ((sources, NOTHING, END), (targets, BEGIN, NOTHING), (targets, NOTHING, END))
        ):
            put(side.values, side.bounds, chosen, ends, before, after, tables, table, lengths)
        number(sources.bounds, chosen, ends, -1, tables, 3)
        number(targets.bounds, chosen, ends, 0, tables, 5)
        empty = slice(len(ends), None)
        tables[empty, 0, 0], tables[empty, 1, 0], lengths[empty, :2] = END, BEGIN, 1
        tables[empty, 3, 1:] = -1
        tensors = torch.from_numpy(tables), torch.from_numpy(lengths)
        return cls._over(*tensors, int(lengths[:, 2].sum()), tuple(examples[chosen].tolist()), tuple(ends.tolist()))

    @classmethod
    def _over(
        cls, tables: Tensor, lengths: Tensor, count: int, examples: tuple[int, ...], ends: tuple[int, ...]
    ) -> Self:
        own, target = Layout(tables[:, 3], tables[:, 4]), Layout(tables[:, 5], tables[:, 6])
        return cls(
            source=Packed(tables[:, 0], lengths[:, 0], own, target),
            given=Padded(tables[:, 1], lengths[:, 1]),
            wanted=Padded(tables[:, 2], lengths[:, 2]),
            count=count,
            examples=examples,
            tables=tables,
            lengths=lengths,
            ends=ends,
        )

    @property
    def packed(self) -> list[tuple[int, ...]]:
        """Index in the corpus of each pair, row by row."""
        return [self.examples[start:end] for start, end in pairwise((0, *self.ends))]

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return self._over(function(self.tables), function(self.lengths), self.count, self.examples, self.ends)

    def rows(self, rank: int, world: int) -> Self:
        packed = self.packed[rank::world]
        lengths = self.lengths[rank::world].contiguous()
        return self._over(
            self.tables[rank::world].contiguous(),
            lengths,
            int(lengths[:, 2].sum()),
            tuple(chain.from_iterable(packed)),
            tuple(accumulate(map(len, packed))),
        )

    def apart(self) -> PairBatch:
        assert isinstance(self.source, Packed)
        sources, targets = [], []
        for row, pairs in enumerate(self.packed):
            for place in range(len(pairs)):
                sources.append(self.source.tokens[row][self.source.own.sequence[row] == place].tolist()[:-1])
                mine = (self.source.target.sequence[row] == place) & self.wanted.keep[row]
                targets.append(self.wanted.tokens[row][mine].tolist()[:-1])
        return PairBatch.of(sources, targets, list(self.examples))
