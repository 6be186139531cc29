"""Parallel text as numbers: of words, and of the pairs of words that cooccur in a pair of sentences.

Numbers are assigned in order of first occurrence.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self, no_type_check

import numpy as np
import numpy.typing as npt
from jaxtyping import Int32, Int64

from regard.loops import njit

Numbers = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]
Sentence = Sequence[str]
"""The words of one side of a pair."""
CELLS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Side:
    """The sentences of one side."""

    words: tuple[str, ...]
    numbers: Int32[np.ndarray, " tokens"]
    starts: Int64[np.ndarray, " starts"]

    @staticmethod
    def of(sentences: Iterable[Sentence]) -> "Side":
        found = GrowingSide()
        for words in sentences:
            found.add(words)
        return found.side

    @property
    def occurrences(self) -> Int64[np.ndarray, " words"]:
        return np.bincount(self.numbers, minlength=len(self.words))


class GrowingSide:
    """A side that is read sentence by sentence, so that its text need not be in memory."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._numbers, self._starts = array("i"), array("q", [0])

    def add(self, words: Sentence) -> None:
        self._numbers.extend([self._words.setdefault(word, len(self._words)) for word in words])
        self._starts.append(len(self._numbers))

    @property
    def side(self) -> Side:
        return Side(tuple(self._words), np.array(self._numbers, np.int32), np.array(self._starts, np.int64))


@dataclass(frozen=True)
class ParallelText:
    """Pairs of sentences, and the distinct pairs of words that cooccur in them."""

    source: Side
    target: Side
    cells: Int32[np.ndarray, " cells"]
    """For each pair of sentences, the number of each pair of a target word (row) and a source word (column)."""
    starts: Int64[np.ndarray, " starts"]
    """Start of the cells of each pair of sentences."""
    sources: Int32[np.ndarray, " pairs"]
    """The source word of each pair of words."""
    targets: Int32[np.ndarray, " pairs"]

    @classmethod
    def of(cls, sources: Iterable[Sentence], targets: Iterable[Sentence]) -> Self:
        return cls.between(Side.of(sources), Side.of(targets))

    @classmethod
    def between(cls, source: Side, target: Side) -> Self:
        starts = np.zeros(len(source.starts), np.int64)
        np.cumsum(np.diff(source.starts) * np.diff(target.starts), out=starts[1:])
        cells = np.empty(starts[-1], np.int32)
        numbering, size = Numbering(), max(len(target.words), 1)
        sides = source.numbers, source.starts, target.numbers, target.starts
        first = 0
        while first < len(starts) - 1:
            last = max(int(np.searchsorted(starts, starts[first] + CELLS_AT_ONCE, "right")) - 1, first + 1)
            keys = _keys_of_cells(*sides, size, first, last)
            cells[starts[first] : starts[last]] = numbering.numbers(keys)
            first = last
        keys = numbering.keys
        return cls(source, target, cells, starts, (keys // size).astype(np.int32), (keys % size).astype(np.int32))

    def __len__(self) -> int:
        return len(self.starts) - 1


class Numbering:
    """Numbers of keys: a hash table with open addressing."""

    def __init__(self) -> None:
        self._table = np.empty(1024, np.int64), 0, np.full(4096, _EMPTY, np.int32)

    def numbers(self, keys: Keys) -> Numbers:
        """The numbers of keys; new keys get new numbers."""
        found = np.empty(len(keys), np.int32)
        self._table = _number(keys, found, *self._table)
        return found

    @property
    def keys(self) -> Keys:
        """All keys, in the order of their numbers."""
        return self._table[0][: self._table[1]]


_EMPTY = -1


@njit(cache=True)
@no_type_check
def _keys_of_cells(
    source: Numbers, source_starts: Keys, target: Numbers, target_starts: Keys, target_words: int, first: int, last: int
) -> Keys:
    """Source word · target_words + target word for the cells of some pairs of sentences."""
    count = 0
    for sentence in range(first, last):
        rows = target_starts[sentence + 1] - target_starts[sentence]
        count += rows * (source_starts[sentence + 1] - source_starts[sentence])
    keys, cell = np.empty(count, np.int64), 0
    for sentence in range(first, last):
        for j in range(target_starts[sentence], target_starts[sentence + 1]):
            for i in range(source_starts[sentence], source_starts[sentence + 1]):
                keys[cell] = np.int64(source[i]) * target_words + target[j]
                cell += 1
    return keys


@njit(cache=True)
@no_type_check
def _number(keys: Keys, numbers: Numbers, found: Keys, count: int, slots: Numbers) -> tuple[Keys, int, Numbers]:
    """Fills in the numbers of keys. `found` are those that have one, `count` of them, and `slots` their hash table."""
    for place in range(len(keys)):
        slot = _slot(keys[place], found, slots)
        if slots[slot] == _EMPTY:
            if count == len(found):
                more = np.empty(2 * count, np.int64)
                more[:count] = found
                found = more
            found[count] = keys[place]
            slots[slot] = count
            count += 1
        numbers[place] = slots[slot]
        if 2 * count > len(slots):
            slots = np.full(2 * len(slots), _EMPTY, np.int32)
            for number in range(count):
                slots[_slot(found[number], found, slots)] = number
    return found, count, slots


@njit(cache=True)
@no_type_check
def _slot(key: int, found: Keys, slots: Numbers) -> np.int64:
    """The slot of a key, or the free slot for it."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(len(slots) - 1))
    while slots[slot] != _EMPTY and found[slots[slot]] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot
