"""Several pairs packed into one row, so that there is hardly any padding (Krell et al. 2021).

Rows have one of very few widths, so that batches have one of very few shapes. A batch has each token's sequence within
its row and its position there, and a model that supports packing hides other sequences. Pairs need not be sorted by
length: a batch is a random sample of the corpus.
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
from regard.data.fill_rows import NOTHING, Indices, number, put
from regard.tokens.rows import Rows
from regard.tokens.vocabulary import BEGIN, END, PAD


@dataclass(frozen=True)
class Layout:
    """The sequence of its row that each token belongs to, and its position in it.

    Padding of a source has sequence −1; that of a target has 0, as it comes last, where causal attention hides it.
    """

    sequence: Int[Tensor, "B T"]
    place: Int[Tensor, "B T"]

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, sequence=function(self.sequence), place=function(self.place))


@dataclass(frozen=True)
class PackedSequences(Padded):
    """Several sources per row, with the layout of their targets."""

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
    """The pairs in each row of a batch, and its shape."""

    pairs: Indices
    """Row by row."""
    ends: Indices
    """Where the pairs of each row end."""
    shape: tuple[int, int]
    wide: bool = False
    """Whether rows are wider than the width that fits nearly all pairs."""


_SOURCE, _GIVEN, _WANTED, _OWN, _TARGET = 0, 1, 2, 3, 5
"""Index of each table of a packed batch; a layout has two."""


@dataclass(frozen=True)
class PackedBatch(PairBatch):
    """Several pairs per row; `lengths` of source and target are those of whole rows.

    All its tensors are parts of two, so that it can be sent as a whole.
    """

    tables: Int[Tensor, "B 7 T"]
    """Tokens of source, `given` and `wanted`; sequences and positions of the source, and of the target."""
    lengths: Int[Tensor, "B 3"]
    """Of source, `given` and `wanted`."""
    ends: tuple[int, ...]
    """Where the pairs of each row end in `examples`."""
    wide: bool
    """Whether rows are wider than the width that fits nearly all pairs."""

    @classmethod
    def pack(cls, sources: Rows, targets: Rows, examples: Indices, packed: PackedRows) -> Self:
        """A batch of pairs of tokens, without special tokens, arranged by `packed`.

        An empty row has an empty source, so that attention has something to attend to, and no targets.
        """
        count, width = packed.shape
        tables, lengths = np.full((count, 7, width), PAD, dtype=np.int64), np.zeros((count, 3), dtype=np.int64)
        chosen, ends = packed.pairs, packed.ends
        put(sources.values, sources.bounds, chosen, ends, NOTHING, END, tables, _SOURCE, lengths)
        put(targets.values, targets.bounds, chosen, ends, BEGIN, NOTHING, tables, _GIVEN, lengths)
        put(targets.values, targets.bounds, chosen, ends, NOTHING, END, tables, _WANTED, lengths)
        number(sources.bounds, chosen, ends, -1, tables, _OWN)
        number(targets.bounds, chosen, ends, 0, tables, _TARGET)
        empty = slice(len(ends), None)
        tables[empty, _SOURCE, 0], tables[empty, _GIVEN, 0], lengths[empty, :_WANTED] = END, BEGIN, 1
        tables[empty, _OWN, 1:] = -1
        tensors, wanted = (torch.from_numpy(tables), torch.from_numpy(lengths)), int(lengths[:, _WANTED].sum())
        return cls._over(*tensors, tuple(examples[chosen].tolist()), tuple(ends.tolist()), wanted, packed.wide)

    @classmethod
    def _over(
        cls, tables: Tensor, lengths: Tensor, examples: tuple[int, ...], ends: tuple[int, ...], count: int, wide: bool
    ) -> Self:
        own, target = (Layout(tables[:, table], tables[:, table + 1]) for table in (_OWN, _TARGET))
        return cls(
            source=PackedSequences(tables[:, _SOURCE], lengths[:, _SOURCE], own, target),
            given=Padded(tables[:, _GIVEN], lengths[:, _GIVEN]),
            wanted=Padded(tables[:, _WANTED], lengths[:, _WANTED]),
            count=count,
            examples=examples,
            tables=tables,
            lengths=lengths,
            ends=ends,
            wide=wide,
        )

    @property
    def packed(self) -> list[tuple[int, ...]]:
        """Index in the corpus of each pair, row by row."""
        return [self.examples[start:end] for start, end in pairwise((0, *self.ends))]

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        tensors = function(self.tables), function(self.lengths)
        return self._over(*tensors, self.examples, self.ends, self.count, self.wide)

    def rows(self, rank: int, world: int) -> Self:
        packed = self.packed[rank::world]
        tables, lengths = (tensor[rank::world].contiguous() for tensor in (self.tables, self.lengths))
        examples, ends = tuple(chain.from_iterable(packed)), tuple(accumulate(map(len, packed)))
        return self._over(tables, lengths, examples, ends, int(lengths[:, _WANTED].sum()), self.wide)

    def apart(self) -> PairBatch:
        assert isinstance(self.source, PackedSequences)
        sources, targets = [], []
        for row, pairs in enumerate(self.packed):
            for place in range(len(pairs)):
                sources.append(self.source.tokens[row][self.source.own.sequence[row] == place].tolist()[:-1])
                mine = (self.source.target.sequence[row] == place) & self.wanted.keep[row]
                targets.append(self.wanted.tokens[row][mine].tolist()[:-1])
        return PairBatch.of(sources, targets, list(self.examples))
