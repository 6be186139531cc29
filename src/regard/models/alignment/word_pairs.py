"""Parallel text as numbers: of words, and of the pairs of words that stand in two sentences of one pair."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self, no_type_check

import numpy as np
import numpy.typing as npt
from jaxtyping import Int32, Int64

from regard.loops import njit

Numbers = npt.NDArray[np.int32]
Sentence = Sequence[str]
"""The words of one side of a pair."""


@dataclass(frozen=True)
class Side:
    """The sentences of one side, their words numbered in the order in which they first occur."""

    words: tuple[str, ...]
    numbers: Int32[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " starts"]

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> Self:
        known: dict[str, int] = {}
        rows = [np.array([known.setdefault(word, len(known)) for word in each], np.int32) for each in sentences]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return cls(tuple(known), np.concatenate([*rows, np.empty(0, np.int32)]), starts)

    @property
    def occurrences(self) -> Int64[np.ndarray, " words"]:
        return np.bincount(self.numbers, minlength=len(self.words))


@dataclass(frozen=True)
class ParallelText:
    """Pairs of sentences, and which different pairs of words stand in them."""

    source: Side
    target: Side
    cells: Int32[np.ndarray, " cells"]
    """For each pair of sentences the number of the pair of words of each target word (row) and source word (column)."""
    starts: Int64[np.ndarray, " starts"]
    """Where the cells of each pair of sentences begin."""
    sources: Int32[np.ndarray, " pairs"]
    """The source word of each pair of words."""
    targets: Int32[np.ndarray, " pairs"]

    @classmethod
    def of(cls, sources: Iterable[Sentence], targets: Iterable[Sentence]) -> Self:
        source, target = Side.of(sources), Side.of(targets)
        starts = np.zeros(len(source.starts), np.int64)
        np.cumsum(np.diff(source.starts) * np.diff(target.starts), out=starts[1:])
        cells = np.empty(starts[-1], np.int32)
        found = _number_pairs(source.numbers, source.starts, target.numbers, target.starts, cells, len(target.words))
        pairs = [each.astype(np.int32) for each in np.divmod(found, max(len(target.words), 1))]
        return cls(source, target, cells, starts, *pairs)

    def __len__(self) -> int:
        return len(self.starts) - 1


_EMPTY = -1


@njit(cache=True)
@no_type_check
def _number_pairs(
    source: Numbers,
    source_starts: npt.NDArray[np.int64],
    target: Numbers,
    target_starts: npt.NDArray[np.int64],
    cells: Numbers,
    target_words: int,
) -> npt.NDArray[np.int64]:
    """Fills the cells; gives source · target_words + target of each pair of words, in the order of their numbers."""
    found, count = np.empty(1024, np.int64), 0
    slots = np.full(4096, _EMPTY, np.int32)  # a hash table with open addressing, of numbers of pairs
    cell = 0
    for sentence in range(len(source_starts) - 1):
        for j in range(target_starts[sentence], target_starts[sentence + 1]):
            for i in range(source_starts[sentence], source_starts[sentence + 1]):
                key = np.int64(source[i]) * target_words + target[j]
                slot = _slot(key, found, slots)
                if slots[slot] == _EMPTY:
                    if count == len(found):
                        more = np.empty(2 * count, np.int64)
                        more[:count] = found
                        found = more
                    found[count] = key
                    slots[slot] = count
                    count += 1
                cells[cell] = slots[slot]
                cell += 1
                if 2 * count > len(slots):
                    slots = np.full(4 * len(slots), _EMPTY, np.int32)
                    for number in range(count):
                        slots[_slot(found[number], found, slots)] = number
    return found[:count].copy()


@njit(cache=True)
@no_type_check
def _slot(key: int, found: npt.NDArray[np.int64], slots: Numbers) -> np.int64:
    """The slot of a pair of words, or the free one that it may take."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(len(slots) - 1))
    while slots[slot] != _EMPTY and found[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot
