"""Learning the merges of byte pair encoding (Sennrich et al. 2016) from the counts of a text's units.

The merges are those of the `tokenizers` trainer, in the same order. That one does not take counts: it reads every unit
as often as it occurs, which takes several times as long (`benchmarks/results/bpe.json`).
"""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush, heappushpop
from itertools import count

import numpy as np
import numpy.typing as npt

from regard.loops import njit

Numbers = npt.NDArray[np.int64]


def learn_merges(units: Mapping[str, int], size: int, least: int) -> list[tuple[str, str]]:
    """The pairs to merge, most frequent first (ties: oldest parts first), until there are `size` tokens, characters
    included, or no pair occurs `least` times."""
    words = _Words(units)
    names, numbers = words.characters, {name: number for number, name in enumerate(words.characters)}
    counts: dict[int, int] = {}
    queue: list[tuple[int, int, int, Numbers]] = []
    merges: list[tuple[str, str]] = []
    serial, made = count(), words.pairs()
    while True:
        for pair, times, where in words.grouped(*made):
            counts[pair] = counts.get(pair, 0) + times
            if counts[pair]:
                heappush(queue, (-counts[pair], pair, next(serial), where))
        best = _best(queue, counts)
        if best is None or len(names) >= size or counts[best[0]] < least:
            return merges
        pair, where = best
        left, right = pair >> 32, pair & 0xFFFF_FFFF
        merges.append((names[left], names[right]))
        # Two merges may make the same token; it is one symbol.
        token = names[left] + names[right]
        number = numbers.setdefault(token, len(names))
        names += [token] if number == len(names) else []
        lost, made = words.merge(where, left, right, number)
        for gone, times, _ in words.grouped(*lost):
            counts[gone] = counts.get(gone, 0) - times


def _best(queue: list[tuple[int, int, int, Numbers]], counts: Mapping[int, int]) -> tuple[int, Numbers] | None:
    """Pops the most frequent pair, with the words it was seen in.

    Counts in the queue may be outdated; such an entry is pushed back with its current count."""
    if not queue:
        return None
    times, pair, order, where = heappop(queue)
    while -times != counts[pair]:
        times, pair, order, where = heappushpop(queue, (-counts[pair], pair, order, where))
    return pair, where


class _Words:
    """Units as rows of symbol ids; a pair is one integer, with the left symbol in the upper half."""

    def __init__(self, units: Mapping[str, int]) -> None:
        codes = np.frombuffer("".join(units).encode("utf-32-le"), dtype=np.uint32)
        letters, self._symbols = np.unique(codes, return_inverse=True)
        self.characters = [chr(letter) for letter in letters.tolist()]
        self._counts = np.fromiter(units.values(), dtype=np.int64, count=len(units))
        self._lengths = np.fromiter(map(len, units), dtype=np.int64, count=len(units))
        self._starts = np.cumsum(self._lengths) - self._lengths

    def pairs(self) -> tuple[Numbers, Numbers]:
        """The pairs of adjacent symbols in all words, and the word of each."""
        word = np.repeat(np.arange(len(self._lengths)), self._lengths)
        inside = word[:-1] == word[1:]
        return (self._symbols[:-1] << 32 | self._symbols[1:])[inside], word[:-1][inside]

    def grouped(self, pairs: Numbers, where: Numbers) -> Iterator[tuple[int, int, Numbers]]:
        """Each distinct pair, its count in the text, and the words it is in."""
        if not len(pairs):
            return
        order = np.argsort(pairs)
        pairs, where = pairs[order], where[order]
        firsts = np.append(0, np.flatnonzero(pairs[1:] != pairs[:-1]) + 1)
        times = np.add.reduceat(self._counts[where], firsts)
        bounds = [*firsts.tolist(), len(pairs)]
        for place, (pair, total) in enumerate(zip(pairs[firsts].tolist(), times.tolist(), strict=True)):
            yield pair, total, where[bounds[place] : bounds[place + 1]]

    def merge(
        self, where: Numbers, left: int, right: int, merged: int
    ) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
        """Merges a pair in some words; returns the other pairs that this removed and those it created, each with the
        words they are in."""
        return _merge(self._symbols, self._starts, self._lengths, where, left, right, merged)


@njit(nogil=True, cache=True)
def _merge(
    symbols: Numbers, starts: Numbers, lengths: Numbers, where: Numbers, left: int, right: int, merged: int
) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
    # Each word once: in text without spaces a pair may occur very often in one word.
    where = np.unique(where)
    most = lengths[where].sum()
    gone, new, words = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    found = 0
    for word in where:
        end = starts[word] + lengths[word]
        place = kept = starts[word]
        while place < end:
            if place + 1 < end and symbols[place] == left and symbols[place + 1] == right:
                if kept > starts[word]:
                    before = symbols[kept - 1] << 32
                    gone[found], new[found], words[found] = before | left, before | merged, word
                    found += 1
                place += 2
                if place < end:
                    gone[found], new[found] = right << 32 | symbols[place], merged << 32 | symbols[place]
                    words[found] = word
                    found += 1
                symbols[kept] = merged
            else:
                symbols[kept] = symbols[place]
                place += 1
            kept += 1
        lengths[word] = kept - starts[word]
    return (gone[:found], words[:found]), (new[:found], words[:found])
