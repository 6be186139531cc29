"""Batches of running text: parallel rows, read segment by segment, in an order that is a pure function of seed, epoch
and position.

A stream is cut into as many rows as a batch has, each a long stretch of the text, and batch k is the k-th segment of
every row: so a model that carries its state over has read, in each row, everything before. Where words may not depend
on text before their document or line, each row is such a piece of text: pieces of similar length are read side by side,
and those longer than a segment continue in the next batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from regard.data.batch import Padded, SegmentBatch
from regard.data.batches import CorpusPosition, no_such
from regard.data.stream import TokenText
from regard.errors import DataError
from regard.recipe import LanguageData
from regard.tokens.vocabulary import BEGIN, END, PAD

GROUPS_IN_SHARD = 64
"""Groups of pieces that are sorted by length together."""

SHORT_SHARE = 0.05
"""With varying segments: the share of those of about half the length (Merity et al. 2018)."""
SPREAD = 5.0
"""With varying segments: standard deviation of their lengths."""
LEAST = 5
"""With varying segments: the shortest."""


def first_token(context: str) -> int:
    """The token before the first word of a text: in a stream the end of a line, as before other lines."""
    return END if context == "stream" else BEGIN


@dataclass(frozen=True)
class Stretches:
    """Stretches of a stream that are read side by side."""

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    spans: list[tuple[int, int]]
    """Start and end of each batch within its rows."""
    turns: npt.NDArray[np.int64]
    """Offset at which each row begins in its stretch; at the end of the stretch it wraps around."""


P = TypeVar("P")


class Recently(Generic[P]):
    """Caches the plan of an epoch and its neighbors: a thread prepares batches of the next pass while this one is still
    in use."""

    def __init__(self, make: Callable[[int], P]) -> None:
        self._make = make
        self._made: dict[int, P] = {}

    def __call__(self, epoch: int) -> P:
        made = self._made
        if epoch not in made:
            # Replaced, never changed in place: another thread may be reading.
            made = {other: plan for other, plan in made.items() if abs(other - epoch) == 1} | {epoch: self._make(epoch)}
            self._made = made
        return made[epoch]


class SegmentBatches(ABC):
    """An endless stream of batches of a text; `first` precedes the text, and each row if rows are not `joined`."""

    def __init__(self, text: TokenText, *, first: int, joined: bool) -> None:
        if not len(text):
            raise DataError("there is no token in the text: its lines are empty, and data.end_of_line is false")
        self._first, self._joined, self._stream = first, joined, text.stream

    @abstractmethod
    def groups(self, epoch: int) -> int:
        """Groups of rows that are read one after another in a pass."""

    @abstractmethod
    def group(self, epoch: int, number: int) -> Stretches:
        """A group of a pass."""

    def passes(self, position: CorpusPosition) -> float:
        """Passes completed at a position, as a fraction."""
        inside = 0.0
        if position.batch:
            inside = position.batch / len(self.group(position.epoch, position.shard).spans)
        return position.epoch + (position.shard + inside) / self.groups(position.epoch)

    def from_position(self, position: CorpusPosition) -> Iterator[tuple[SegmentBatch, CorpusPosition]]:
        """An endless stream of batches from a position on, each with the position after it.

        Raises DataError for a position that this text does not have."""
        if position.shard >= self.groups(position.epoch):
            raise DataError(no_such(position))
        if position.batch >= len(self.group(position.epoch, position.shard).spans):
            raise DataError(no_such(position))
        while True:
            rows = self.group(position.epoch, position.shard)
            span, position = rows.spans[position.batch], self._after(position, len(rows.spans))
            yield self._cut(rows, *span), position

    def once(self) -> Iterator[tuple[SegmentBatch, npt.NDArray[np.int64]]]:
        """The batches of the first pass, each with the places in the stream of its rows' first targets."""
        for number in range(self.groups(0)):
            rows = self.group(0, number)
            for span in rows.spans:
                yield self._cut(rows, *span), rows.starts + span[0]

    def _after(self, position: CorpusPosition, batches: int) -> CorpusPosition:
        if position.batch + 1 < batches:
            return replace(position, batch=position.batch + 1)
        if position.shard + 1 < self.groups(position.epoch):
            return replace(position, shard=position.shard + 1, batch=0)
        return CorpusPosition(position.epoch + 1)

    def _cut(self, rows: Stretches, start: int, stop: int) -> SegmentBatch:
        """Tokens `start` to `stop` of every row."""
        lengths = np.clip(rows.lengths - start, 0, stop - start)
        keep = np.arange(stop - start) < lengths[:, None]
        inside = (rows.turns[:, None] + np.arange(start, stop)) % np.maximum(rows.lengths, 1)[:, None]
        places = np.where(keep, rows.starts[:, None] + inside, 0)
        wanted = np.where(keep, self._stream[places], PAD)
        # A stretch is preceded by the text before it, if that is part of its context.
        begins = keep & ((places == 0) if self._joined else (inside == 0))
        given = np.where(begins, self._first, np.where(keep, self._stream[np.maximum(places - 1, 0)], PAD))
        sizes = torch.from_numpy(lengths.astype(np.int64))
        return SegmentBatch(
            given=Padded(torch.from_numpy(given.astype(np.int64)), sizes),
            wanted=Padded(torch.from_numpy(wanted.astype(np.int64)), sizes),
            fresh=torch.full((len(lengths),), start == 0),
            count=int(lengths.sum()),
        )


class StreamSegments(SegmentBatches):
    """A text in one piece, in `rows` of equal length, the last one shorter, read `segment` tokens at a time."""

    def __init__(
        self, text: TokenText, *, rows: int, segment: int, vary: bool = False, rotate: bool = False, seed: int = 0
    ) -> None:
        super().__init__(text, first=first_token("stream"), joined=True)
        self._segment, self._length = segment, _row_length(len(text), rows)
        self._vary, self._rotate, self._seed = vary, rotate, seed & 0xFFFF_FFFF_FFFF_FFFF
        self._plans = Recently(self._plan)

    def groups(self, epoch: int) -> int:
        return 1

    def group(self, epoch: int, number: int) -> Stretches:
        return self._plans(epoch)

    def _plan(self, epoch: int) -> Stretches:
        starts = np.arange(0, len(self._stream), self._length)
        lengths = np.minimum(starts + self._length, len(self._stream)) - starts
        ends = np.cumsum(self._widths(epoch))
        ends = np.append(ends[ends < self._length], self._length)
        spans = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
        return Stretches(starts, lengths, spans, self._turns(epoch, lengths))

    def _turns(self, epoch: int, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if not self._rotate:
            return np.zeros_like(lengths)
        return np.random.default_rng((self._seed, epoch, 1)).integers(lengths)

    def _widths(self, epoch: int) -> npt.NDArray[np.int64]:
        """At least as many widths of segments as a pass has."""
        if not self._vary:
            return np.full(-(-self._length // self._segment), self._segment)
        rng = np.random.default_rng((self._seed, epoch))
        count = -(-self._length // LEAST)
        middle = np.where(rng.random(count) < SHORT_SHARE, self._segment / 2, self._segment)
        return np.maximum(LEAST, rng.normal(middle, SPREAD)).astype(np.int64)


class PieceSegments(SegmentBatches):
    """A text in many pieces, documents or lines, each by itself; shuffled if there is a seed. A batch has at most
    `batch_tokens` tokens, padding included."""

    def __init__(
        self, text: TokenText, ends: npt.NDArray[np.int64], *, batch_tokens: int, segment: int, seed: int | None = None
    ) -> None:
        super().__init__(text, first=first_token("lines"), joined=False)
        self._starts, self._lengths = np.append(0, ends[:-1]), np.diff(ends, prepend=0)
        self._budget, self._segment = batch_tokens, segment
        self._seed = None if seed is None else seed & 0xFFFF_FFFF_FFFF_FFFF
        self._shard = max(1, int(GROUPS_IN_SHARD * batch_tokens / np.minimum(self._lengths, segment).mean()))
        self._plans = Recently(self._plan)

    def groups(self, epoch: int) -> int:
        return len(self._plans(epoch))

    def group(self, epoch: int, number: int) -> Stretches:
        chosen = self._plans(epoch)[number]
        longest = int(self._lengths[chosen].max())
        spans = [(start, min(start + self._segment, longest)) for start in range(0, longest, self._segment)]
        return Stretches(self._starts[chosen], self._lengths[chosen], spans, np.zeros_like(chosen))

    def _plan(self, epoch: int) -> list[npt.NDArray[np.int64]]:
        """The pieces to read side by side: of similar length within a shard, so that there is little padding."""
        rng = None if self._seed is None else np.random.default_rng((self._seed, epoch))
        order = np.arange(len(self._lengths))
        order = order if rng is None else rng.permutation(order)
        size = len(order) if rng is None else self._shard
        groups: list[npt.NDArray[np.int64]] = []
        for start in range(0, len(order), size):
            shard = self._grouped(order[start : start + size])
            groups += shard if rng is None else [shard[place] for place in rng.permutation(len(shard))]
        return groups

    def _grouped(self, shard: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """Neighbors in length, as many as the budget allows."""
        shard = shard[np.argsort(self._lengths[shard], kind="stable")]
        widths = np.minimum(self._lengths[shard], self._segment).tolist()
        groups, first = [], 0
        for place, width in enumerate(widths):
            if place > first and (place + 1 - first) * width > self._budget:
                groups.append(shard[first:place])
                first = place
        return [*groups, shard[first:]]


def training_segments(text: TokenText, data: LanguageData, *, seed: int, batch_tokens: int) -> SegmentBatches:
    """Batches to train on, as the settings say."""
    if data.context == "stream":
        rows = max(1, batch_tokens // data.segment)
        return StreamSegments(text, rows=rows, segment=data.segment, vary=data.vary, rotate=data.rotate, seed=seed)
    ends = text.ends(data.context)
    return PieceSegments(text, ends, batch_tokens=batch_tokens, segment=data.segment, seed=seed)


def _row_length(tokens: int, rows: int) -> int:
    """Tokens of each row but the last, if a stream is cut into that many rows, or one per token if it has fewer."""
    return -(-tokens // min(rows, tokens))


def rows_cut(tokens: int, rows: int) -> int:
    """The actual number of rows of a stream, which may be below `rows` because they have equal length."""
    return -(-tokens // _row_length(tokens, rows))


def reading_segments(text: TokenText, context: str, *, rows: int, segment: int) -> SegmentBatches:
    """Batches for reading a text once (see `once`): a stream in that many rows, pieces in batches of as many tokens."""
    if context == "stream":
        return StreamSegments(text, rows=rows, segment=segment)
    return PieceSegments(text, text.ends(context), batch_tokens=rows * segment, segment=segment)
