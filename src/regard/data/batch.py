"""The inputs of models: padded token matrices that know their lengths, and batches that know their count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.fill_rows import NOTHING, Indices, put
from regard.tokens.rows import Rows
from regard.tokens.vocabulary import BEGIN, END, PAD


@dataclass(frozen=True)
class Padded:
    """Sequences of different lengths in one matrix, padded on the right."""

    tokens: Int[Tensor, "B S"]
    lengths: Int[Tensor, " B"]

    @classmethod
    def of(cls, rows: list[list[int]], multiple: int = 1, width: int = 0) -> Self:
        """Pads rows to their common width, at least `width`, rounded up to a multiple."""
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        longest = int(lengths.max(initial=width))
        tokens = np.full((len(rows), -(-longest // multiple) * multiple), PAD, dtype=np.int64)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return cls(torch.from_numpy(tokens), torch.from_numpy(lengths))

    @property
    def keep(self) -> Bool[Tensor, "B S"]:
        """True where there is a real token."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths[:, None]

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        return replace(self, tokens=self.tokens[rows], lengths=self.lengths[rows])

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, tokens=function(self.tokens), lengths=function(self.lengths))

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


def pad_rows(rows: Rows, chosen: Indices, shape: tuple[int, int] | None = None) -> Padded:
    """Chosen rows in one matrix, filled up with empty rows to a shape of (rows, width) if one is given."""
    lengths = rows.lengths_of(chosen)
    count, width = shape or (len(chosen), int(lengths.max(initial=0)))
    lengths = np.append(lengths, np.zeros(count - len(chosen), dtype=np.int64))
    tokens = np.full((count, width), PAD, dtype=np.int64)
    tokens[np.arange(width) < lengths[:, None]] = rows.picked(chosen, width).values
    return Padded(torch.from_numpy(tokens), torch.from_numpy(lengths))


@dataclass(frozen=True)
class Worded(Padded):
    """Sources whose words can be copied into the target.

    `words` has each token's index in the target vocabulary of V tokens, or V + i for the i-th distinct word of its
    source that is out of this vocabulary.
    """

    words: Int[Tensor, "B S"]

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        return replace(self, tokens=self.tokens[rows], lengths=self.lengths[rows], words=self.words[rows])

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        tokens, lengths = function(self.tokens), function(self.lengths)
        return replace(self, tokens=tokens, lengths=lengths, words=function(self.words))


def padded_sources(
    sources: Sequence[Sequence[int]], words: Sequence[Sequence[int]] | None = None, width: int = 0
) -> Padded:
    """Sources from token lists without special tokens, with END, and with their words if these are given."""
    tokens = Padded.of([[*row, END] for row in sources], width=width)
    if words is None:
        return tokens
    return Worded(tokens.tokens, tokens.lengths, Padded.of([[*row, END] for row in words], width=width).tokens)


def _padded(
    rows: Rows, chosen: Indices, shape: tuple[int, int] | None, before: int = NOTHING, after: int = NOTHING
) -> Padded:
    """Chosen rows with one token appended, and rows of that token alone to fill the shape."""
    count, width = shape or (len(chosen), int(rows.lengths_of(chosen).max(initial=-1)) + 1)
    tables, lengths = np.full((count, 1, width), PAD, dtype=np.int64), np.ones((count, 1), dtype=np.int64)
    put(rows.values, rows.bounds, chosen, np.arange(1, len(chosen) + 1), before, after, tables, 0, lengths)
    tables[len(chosen) :, :, :1] = max(before, after)
    return Padded(torch.from_numpy(tables[:, 0]), torch.from_numpy(lengths[:, 0]))


@dataclass(frozen=True)
class PairBatch:
    """Source and target of the same examples.

    `given` is what the decoder reads (BEGIN and the target), `wanted` what it must predict (the target and END). There
    may be empty rows after those of the examples, to fill a shape.
    """

    source: Padded
    given: Padded
    wanted: Padded
    count: int
    """Number of targets, END included: the normalizer of the summed loss."""
    examples: tuple[int, ...]
    """Index of each row in the corpus; empty rows have none."""

    @classmethod
    def of(
        cls,
        sources: list[list[int]],
        targets: list[list[int]],
        examples: list[int],
        shape: tuple[int, int] | None = None,
        words: list[list[int]] | None = None,
    ) -> Self:
        """A batch from token lists without special tokens; END is added to the source too, so no source is empty.

        `words` are the source tokens as target tokens (see `Worded`), for models that copy.

        It is padded to a shape of (rows, width) if one is given. Padding changes nothing: an empty row has the source
        of an empty text, so that attention has something to attend to, and no targets.
        """
        rows, width = shape or (len(examples), 0)
        empty: list[list[int]] = [[]] * (rows - len(examples))
        return cls(
            source=padded_sources(sources + empty, None if words is None else words + empty, width),
            given=Padded.of([[BEGIN, *row] for row in targets + empty], width=width),
            wanted=Padded.of([[*row, END] for row in targets] + empty, width=width),
            count=sum(len(row) + 1 for row in targets),
            examples=tuple(examples),
        )

    @classmethod
    def pick(
        cls,
        sources: Rows,
        targets: Rows,
        chosen: Indices,
        examples: Indices,
        shape: tuple[int, int] | None = None,
        words: Rows | None = None,
    ) -> Self:
        """Like `of`, from the `chosen` rows of `sources` and `targets`; `examples` has the corpus index of each row."""
        source = _padded(sources, chosen, shape, after=END)
        if words is not None:
            source = Worded(source.tokens, source.lengths, _padded(words, chosen, shape, after=END).tokens)
        given, wanted = _padded(targets, chosen, shape, before=BEGIN), _padded(targets, chosen, shape, after=END)
        wanted.tokens[len(chosen) :], wanted.lengths[len(chosen) :] = PAD, 0
        return cls(source, given, wanted, int(wanted.lengths.sum()), tuple(examples[chosen].tolist()))

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.source.tokens), device=self.source.tokens.device)[rank::world]
        wanted = self.wanted.select(chosen)
        return replace(
            self,
            source=self.source.select(chosen),
            given=self.given.select(chosen),
            wanted=wanted,
            count=int(wanted.lengths.sum()),
            examples=self.examples[rank::world],
        )

    def apart(self) -> "PairBatch":
        """The same pairs, one per row."""
        return self

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        source, given, wanted = (part.map(function) for part in (self.source, self.given, self.wanted))
        return replace(self, source=source, given=given, wanted=wanted)

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


@dataclass(frozen=True)
class SegmentBatch:
    """The next segment of several texts, one per row; the state of each row is carried from batch to batch.

    `wanted` is `given` shifted by one token. A row that has ended is empty; one in which another text begins is fresh.
    """

    given: Padded
    wanted: Padded
    fresh: Bool[Tensor, " B"]
    """Rows at the start of a text, where the state carried from the batch before is dropped."""
    count: int
    """Number of targets: the normalizer of the summed loss."""

    @classmethod
    def of(cls, given: list[list[int]], wanted: list[list[int]], fresh: list[bool], width: int = 0) -> Self:
        """A batch from token lists that are equally long in pairs, at least `width` tokens wide."""
        return cls(
            given=Padded.of(given, width=width),
            wanted=Padded.of(wanted, width=width),
            fresh=torch.tensor(fresh),
            count=sum(map(len, wanted)),
        )

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.fresh), device=self.fresh.device)[rank::world]
        wanted = self.wanted.select(chosen)
        return replace(
            self,
            given=self.given.select(chosen),
            wanted=wanted,
            fresh=self.fresh[chosen],
            count=int(wanted.lengths.sum()),
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        return replace(
            self, given=self.given.map(function), wanted=self.wanted.map(function), fresh=function(self.fresh)
        )

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))
