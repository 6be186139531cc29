"""BPE dropout (Provilkov et al. 2020) that can be seeded and is fast enough for a GPU.

At each BPE step every possible merge of a word is skipped with probability p, and the best remaining one is made; when
all are skipped, the word is done. So merges are tried best first until one is not skipped. While the best one is never
skipped, this is BPE without dropout, whose result is known: a word that took k merges is unchanged with probability
(1 - p) ** k, and only the others need work. All texts of a call are processed in one numba loop without the GIL.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from regard.loops import njit
from regard.tokens.rows import Rows

SPACE, WHITE, NUMBER, LETTER = range(-4, 0)
"""Character classes that decide word boundaries; every other character is a class by itself, from 0 on. Tokens that are
not text count as WHITE (white space other than a space), which is a word by itself."""

_EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Key of an empty slot in the hash table of merges."""

_NO_RANK = 1 << 30
"""The rank of a pair that is not a merge."""

_NEVER = _NO_RANK << 32

_GOLDEN, _FIRST, _SECOND = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xBF58_476D_1CE4_E5B9),
    np.uint64(0x94D0_49BB_1331_11EB),
)
"""Constants of the generator SplitMix64 (Steele et al. 2014)."""

_DRAWN_BITS = 53

Numbers = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Draws = npt.NDArray[np.uint64]

Tables = tuple[Numbers, Places, Numbers, Draws, Numbers, Numbers]
"""A BPE model: the characters of all tokens, concatenated, and where those of each begin; the classes of each token's
first and last character; a hash table of token pairs, and the rank of each; the token that each rank's merge makes."""


class Merges:
    """Samples segmentations of texts, given the merges of a BPE model: pair of tokens -> (rank, merged token).

    `pieces` are the characters of each token, as tokens; `edges` the classes of its first and last character.
    """

    def __init__(
        self,
        table: Mapping[tuple[int, int], tuple[int, int]],
        pieces: Sequence[Sequence[int]],
        edges: Sequence[tuple[int, int]],
        share: float,
    ) -> None:
        flat = Rows.of(pieces)
        merged = np.zeros(1 + max((rank for rank, _ in table.values()), default=0), dtype=np.int32)
        for rank, token in table.values():
            merged[rank] = token
        self._tables: Tables = flat.values, flat.bounds, np.array(edges, dtype=np.int32), *_hashed(table), merged
        self._skipped = np.uint64(round(share * 2**_DRAWN_BITS))

    def sample(self, rows: Rows, seeds: npt.NDArray[np.uint64], longest: int | None = None) -> Rows:
        """Samples other tokens for texts that were encoded by BPE, each a function of the text and its seed.

        Texts that would exceed `longest` tokens, and tokens without characters (tags, UNKNOWN), are left unchanged.
        """
        most = np.iinfo(np.int64).max if longest is None else longest
        values, bounds = _sample(rows.values, rows.bounds, seeds, most, self._tables, self._skipped)
        return Rows(values[: bounds[-1]], bounds)


def _hashed(table: Mapping[tuple[int, int], tuple[int, int]]) -> tuple[Draws, Numbers]:
    """An open-addressing hash table of pairs, and the rank of each."""
    room = 1 << max(4, (2 * len(table)).bit_length())
    keys, ranks = np.full(room, _EMPTY), np.full(room, _NO_RANK, dtype=np.int32)
    for (left, right), (rank, _) in table.items():
        pair = np.uint64(left << 32 | right)
        place = _slot(keys, pair)
        keys[place], ranks[place] = pair, rank
    return keys, ranks


@njit(nogil=True, cache=True)
def joined(left: int, right: int) -> bool:
    """Whether adjacent characters of these classes belong to one word: letters, a run of the same other character, or a
    space and its successor."""
    if left == SPACE:
        return right > WHITE
    return left == right and left >= LETTER


@njit(nogil=True, cache=True)
def _mixed(number: np.uint64) -> np.uint64:
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))


@njit(nogil=True, cache=True)
def _drawn(state: np.uint64) -> np.uint64:
    return _mixed(state) >> np.uint64(64 - _DRAWN_BITS)


@njit(nogil=True, cache=True)
def _slot(keys: Draws, pair: np.uint64) -> np.uint64:
    """The slot of a pair, or the empty slot where it would be inserted."""
    last = np.uint64(len(keys) - 1)
    place = (pair * _GOLDEN) >> np.uint64(32) & last
    while keys[place] != pair and keys[place] != _EMPTY:
        place = (place + np.uint64(1)) & last
    return place


@njit(nogil=True, cache=True)
def _rank(left: int, right: int, keys: Draws, ranks: Numbers) -> int:
    rank: int = ranks[_slot(keys, np.uint64(left) << np.uint64(32) | np.uint64(right))]
    return rank


@njit(nogil=True, cache=True)
def _best(possible: Places, first: int, last: int, before: int) -> int:
    """The best merge after `before`, by rank, then position from the left; both are packed into one integer."""
    best = _NEVER
    for place in range(first, last):
        order = possible[place] << 32 | place
        if before < order < best:
            best = order
    return best


@njit(nogil=True, cache=True)
def _merge(
    tokens: Numbers,
    first: int,
    end: int,
    sure: int,
    state: np.uint64,
    possible: Places,
    tables: Tables,
    skipped: np.uint64,
) -> tuple[int, np.uint64]:
    """Merges the characters of a word in place; returns its new end and the generator's next state.

    The first merges are already decided: `sure` of them are made, the next is skipped. `possible` is a buffer for the
    rank of the merge of each token with the next."""
    keys, ranks, merged = tables[3], tables[4], tables[5]
    for place in range(first, end - 1):
        possible[place] = _rank(tokens[place], tokens[place + 1], keys, ranks)
    before = -1
    while True:
        best = _best(possible, first, end - 1, before)
        if best == _NEVER:
            return end, state
        if sure < 0:
            state += _GOLDEN
        made = sure > 0 or (sure < 0 and _drawn(state) >= skipped)
        sure = max(sure - 1, -1)
        if not made:
            before = best
            continue
        before, place = -1, best & 0xFFFF_FFFF
        tokens[place] = merged[best >> 32]
        end -= 1
        for later in range(place + 1, end):
            tokens[later] = tokens[later + 1]
            possible[later - 1] = possible[later]
        for changed in range(max(place - 1, first), min(place + 1, end - 1)):
            possible[changed] = _rank(tokens[changed], tokens[changed + 1], keys, ranks)


@njit(nogil=True, cache=True)
def _word(values: Numbers, first: int, end: int, starts: Places, edges: Numbers) -> tuple[int, int]:
    """The end of the word that begins at `first`, and its number of characters."""
    known, last, length = len(starts) - 1, first, 0
    while True:
        token = values[last]
        last += 1
        if token >= known:
            return last, 1
        length += starts[token + 1] - starts[token]
        if last == end or values[last] >= known or not joined(edges[token, 1], edges[values[last], 0]):
            return last, length


@njit(nogil=True, cache=True)
def _sample(
    values: Numbers, bounds: Places, seeds: Draws, longest: int, tables: Tables, skipped: np.uint64
) -> tuple[Numbers, Places]:
    pieces, starts, edges = tables[0], tables[1], tables[2]
    room = 0
    for token in values:
        room += starts[token + 1] - starts[token] if token < len(starts) - 1 else 1
    tokens, possible, ends = np.empty(room, np.int32), np.empty(room, np.int64), np.zeros(len(bounds), np.int64)
    filled = 0
    for row in range(len(bounds) - 1):
        state = _mixed(seeds[row])
        first, end = bounds[row], bounds[row + 1]
        while first < end:
            last, length = _word(values, first, end, starts, edges)
            # Count the merges before the first that is skipped.
            merges, sure = length - (last - first), 0
            while sure < merges:
                state += _GOLDEN
                if _drawn(state) < skipped:
                    break
                sure += 1
            begin = filled
            for place in range(first, last):
                token = values[place]
                if sure == merges:
                    tokens[filled] = token
                    filled += 1
                else:
                    for piece in range(starts[token], starts[token + 1]):
                        tokens[filled] = pieces[piece]
                        filled += 1
            if sure < merges:
                filled, state = _merge(tokens, begin, filled, sure, state, possible, tables, skipped)
            first = last
        if filled - ends[row] > longest:
            filled = ends[row]
            for place in range(bounds[row], end):
                tokens[filled] = values[place]
                filled += 1
        ends[row + 1] = filled
    return tokens, ends
