"""BPE dropout (Provilkov et al. 2020) that can be seeded and keeps up with a GPU.

At each step of BPE every possible merge of a word is skipped with probability p, and the best of the rest is made;
when all are skipped, the word stays as it is. What texts are made of is looked up once and remembered; the rest is a
loop over numbers, compiled by numba, that other threads need not wait for.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numba import njit

_MOST_REMEMBERED = 20_000_000
"""Words of texts, over all of them, that are remembered: four bytes each."""

_NONE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Marks a free place of the table of merges; no pair of tokens has this number."""

_GOLDEN, _FIRST, _SECOND = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xBF58_476D_1CE4_E5B9),
    np.uint64(0x94D0_49BB_1331_11EB),
)
"""Of the generator SplitMix64 (Steele et al. 2014)."""

Ragged = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
"""Rows of numbers, one after another, and where each begins; the last entry is where they end."""


class Merges:
    """Samples how texts are split, given the merges of a BPE model: pair of tokens -> (rank, merged token)."""

    def __init__(
        self,
        table: Mapping[tuple[int, int], tuple[int, int]],
        find: Callable[[str], int],
        units: Callable[[str], Sequence[str]],
        share: float,
    ) -> None:
        """`find` gives the token of a character, `units` the words of a text that merges never cross."""
        self._find, self._units, self._share = find, units, share
        self._keys, self._made = _hashed(table)
        self._places: dict[str, int] = {}
        self._words: list[list[int]] = []
        self._ragged_words: Ragged = _ragged([])
        self._texts: dict[str, npt.NDArray[np.int32]] = {}
        self._remembered = 0

    def sample(self, texts: Sequence[str], seeds: npt.NDArray[np.uint64]) -> list[list[int]]:
        """The tokens of each text, a function of the text and its seed."""
        if self._remembered > _MOST_REMEMBERED:
            self._places, self._words, self._texts, self._remembered = {}, [], {}, 0
            self._ragged_words = _ragged([])
        rows = [self._texts[text] if text in self._texts else self._learn(text) for text in texts]
        if len(self._ragged_words[1]) != len(self._words) + 1:
            self._ragged_words = _ragged(self._words)
        flat = np.concatenate(rows) if rows else np.empty(0, np.int32)
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        tokens, bounds = _sample(flat, ends, *self._ragged_words, seeds, self._keys, self._made, self._share)
        places = bounds.tolist()
        found: list[int] = tokens.tolist()
        return [found[start:end] for start, end in pairwise(places)]

    def _learn(self, text: str) -> npt.NDArray[np.int32]:
        row = np.fromiter(map(self._place, self._units(text)), dtype=np.int32)
        self._texts[text] = row
        self._remembered += len(row)
        return row

    def _place(self, word: str) -> int:
        place = self._places.get(word)
        if place is None:
            place = self._places[word] = len(self._words)
            self._words.append([self._find(character) for character in word])
        return place


def _ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    flat = np.fromiter((number for row in rows for number in row), dtype=np.int32)
    return flat, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def _hashed(
    table: Mapping[tuple[int, int], tuple[int, int]],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Pairs as numbers in a table with free places, and what each makes: (rank, merged token)."""
    room = 1 << max(4, (2 * len(table)).bit_length())
    keys, made = np.full(room, _NONE), np.zeros((room, 2), np.int32)
    for (left, right), (rank, merged) in table.items():
        pair = np.uint64(left << 32 | right)
        place = _slot(keys, pair)
        keys[place], made[place] = pair, (rank, merged)
    return keys, made


@njit(nogil=True, cache=True)
def _mixed(number: np.uint64) -> np.uint64:
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))


@njit(nogil=True, cache=True)
def _slot(keys: npt.NDArray[np.uint64], pair: np.uint64) -> int:
    """Where a pair stands in the table, or could."""
    last = np.uint64(len(keys) - 1)
    place = _mixed(pair) & last
    while keys[place] != pair and keys[place] != _NONE:
        place = (place + np.uint64(1)) & last
    return int(place)


@njit(nogil=True, cache=True)
def _merge(
    split: npt.NDArray[np.int32],
    length: int,
    state: np.uint64,
    keys: npt.NDArray[np.uint64],
    made: npt.NDArray[np.int32],
    share: float,
) -> tuple[int, np.uint64]:
    """Merges the tokens of a word in place; gives how many are left, and the generator's next state."""
    merges = np.empty(max(length - 1, 0), np.int64)
    for place in range(length - 1):
        merges[place] = _slot(keys, np.uint64(split[place]) << np.uint64(32) | np.uint64(split[place + 1]))
    while True:
        best = -1
        for place in range(length - 1):
            if keys[merges[place]] == _NONE:
                continue
            state += _GOLDEN
            kept = (_mixed(state) >> np.uint64(11)) * 2.0**-53 >= share
            if kept and (best < 0 or made[merges[place], 0] < made[merges[best], 0]):
                best = place
        if best < 0:
            return length, state
        split[best] = made[merges[best], 1]
        length -= 1
        split[best + 1 : length] = split[best + 2 : length + 1]
        merges[best : length - 1] = merges[best + 1 : length]
        for place in range(max(best - 1, 0), min(best + 1, length - 1)):
            merges[place] = _slot(keys, np.uint64(split[place]) << np.uint64(32) | np.uint64(split[place + 1]))


@njit(nogil=True, cache=True)
def _sample(
    texts: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    characters: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    seeds: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    made: npt.NDArray[np.int32],
    share: float,
) -> Ragged:
    """The tokens of texts, which are rows of words, which are rows of characters."""
    room = 0
    for word in texts:
        room += starts[word + 1] - starts[word]
    tokens, ends = np.empty(room, np.int32), np.zeros(len(bounds), np.int64)
    filled = 0
    for text in range(len(bounds) - 1):
        state = _mixed(seeds[text])
        for word in texts[bounds[text] : bounds[text + 1]]:
            length = starts[word + 1] - starts[word]
            split = tokens[filled : filled + length]
            split[:] = characters[starts[word] : starts[word + 1]]
            length, state = _merge(split, length, state, keys, made, share)
            filled += length
        ends[text + 1] = filled
    return tokens[:filled], ends
