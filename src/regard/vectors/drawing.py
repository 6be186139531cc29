"""Random numbers in compiled loops: the upper bits of a 64-bit linear congruential generator (Knuth)."""

from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Int64, UInt32
from numba import float32, int64, njit, uint64

_MULTIPLIER, _INCREMENT = uint64(6364136223846793005), uint64(1442695040888963407)
_LOWER, _UPPER = uint64(31), uint64(33)

MOST_LINE = 10_000
"""Longest line in words; longer ones are split, as in gensim."""

REACH = 6.0
"""The logistic function is treated as constant beyond ± this."""

CELLS = 2048
"""Size of the table of the logistic function."""


def logistic_table() -> Float32[np.ndarray, " C"]:
    """The logistic function at the midpoints of CELLS equal intervals between -REACH and REACH."""
    at = ((np.arange(CELLS) + 0.5) / CELLS * 2 - 1) * REACH
    return (1 / (1 + np.exp(-at))).astype(np.float32)


@njit(nogil=True, cache=True)
def logistic(at: Any, table: Float32[np.ndarray, " C"]) -> Any:
    """The logistic function, from the table."""
    cell = int64((at + float32(REACH)) * float32(CELLS / (2 * REACH)))
    return table[min(max(cell, 0), CELLS - 1)]


@njit(nogil=True, cache=True)
def advance(state: Any) -> Any:
    return state * _MULTIPLIER + _INCREMENT


@njit(nogil=True, cache=True)
def below(state: Any, bound: int) -> Any:
    """A random number from 0 to bound − 1."""
    return int64(((state >> _UPPER) * uint64(bound)) >> _LOWER)


@njit(nogil=True, cache=True)
def choose(
    word: int,
    chosen: Int64[np.ndarray, " T"],
    odds: UInt32[np.ndarray, " V"],
    alias: Int32[np.ndarray, " V"],
    state: Any,
) -> Any:
    """Writes a word and negatives from an alias table, never the word itself, into `chosen`; returns the new state."""
    chosen[0] = word
    for target in range(1, len(chosen)):
        drawn = word
        while drawn == word:
            state = advance(state)
            drawn = below(state, len(odds))
            state = advance(state)
            if (state >> uint64(32)) > odds[drawn]:
                drawn = int64(alias[drawn])
        chosen[target] = drawn
    return state


@njit(nogil=True, cache=True)
def window_around(place: int, length: int, window: int, dynamic: bool, state: Any) -> tuple[int, int, Any]:
    """Begin and end of the window around a word, and the new state."""
    if dynamic:
        state = advance(state)
        window -= below(state, window)
    return max(0, place - window), min(length, place + window + 1), state


@njit(nogil=True, cache=True)
def next_line(
    tokens: Int32[np.ndarray, " N"],
    place: int,
    keep: UInt32[np.ndarray, " V"],
    line: Int32[np.ndarray, " L"],
    state: Any,
) -> tuple[int, int, Any]:
    """Copies the line that begins at `place` into `line`, without subsampled words; returns its length, the next place
    and the new state."""
    length = 0
    while place < len(tokens) and length < len(line):
        word = tokens[place]
        place += 1
        if word < 0:
            break
        state = advance(state)
        if (state >> uint64(32)) <= keep[word]:
            line[length] = word
            length += 1
    return length, place, state
