"""Phrases: adjacent words that co-occur more often than by chance become one word (Mikolov et al. 2013)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int32, Int64

from regard.recipe import VectorsData
from regard.vectors.stream import PIECE, mapped

MOST_PAIRS = 20_000_000
"""Most distinct pairs in memory while counting, about 1 GB; beyond, the rarest are pruned (as by word2phrase)."""

JOINT = "_"


def join_phrases(
    stream: Int32[np.ndarray, " N"],
    words: list[str],
    counts: Int64[np.ndarray, " M"],
    data: VectorsData,
    path: Path,
) -> tuple[Int32[np.ndarray, " P"], list[str], Int64[np.ndarray, " W"]]:
    """One pass: writes the stream with joined pairs to a file; returns it with the words and counts, pairs included."""
    named = np.fromiter(map(bool, words), dtype=bool, count=len(words))
    pairs, together = count_pairs(stream, named & (counts >= data.least), len(words))
    first, second = pairs // len(words), pairs % len(words)
    total = int(counts[1:].sum())
    score = (together - data.least) * (total / (counts[first].astype(np.float64) * counts[second]))
    phrases = pairs[score >= data.phrase_score]
    names = [JOINT.join((words[pair // len(words)], words[pair % len(words)])) for pair in phrases.tolist()]
    joined = np.zeros(len(words) + len(names), dtype=np.int64)
    with open(path, "wb") as file:
        for piece in _pieces(stream):
            made = _join(piece, phrases, len(words))
            joined += np.bincount(made, minlength=len(joined))
            file.write(made.tobytes())
    return mapped(path), words + names, joined


def count_pairs(
    stream: Int32[np.ndarray, " N"], frequent: Bool[np.ndarray, " M"], size: int, most: int = MOST_PAIRS
) -> tuple[Int64[np.ndarray, " K"], Int64[np.ndarray, " K"]]:
    """Sorted pairs of frequent adjacent words as first · size + second, and their counts."""
    pairs, counts, least = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0
    usable = frequent.copy()
    usable[0] = False
    for piece in _pieces(stream):
        good = usable[piece]
        keys = (piece[:-1].astype(np.int64) * size + piece[1:])[good[:-1] & good[1:]]
        found, times = np.unique(keys, return_counts=True)
        # Merged by hand: both are sorted, and sorting them together would take twice the memory.
        places = np.searchsorted(pairs, found)
        known = places < len(pairs)
        known[known] = pairs[places[known]] == found[known]
        counts[places[known]] += times[known]
        pairs, counts = (
            np.insert(held, places[~known], new[~known]) for held, new in ((pairs, found), (counts, times))
        )
        while len(pairs) > most:
            least += 1
            pairs, counts = pairs[counts > least], counts[counts > least]
    return pairs, counts


def _join(piece: Int32[np.ndarray, " n"], phrases: Int64[np.ndarray, " F"], size: int) -> Int32[np.ndarray, " m"]:
    """Joins phrases from left to right: in `a b c`, if both `a b` and `b c` are phrases, the first."""
    if not len(phrases) or len(piece) < 2:
        return piece
    keys = piece[:-1].astype(np.int64) * size + piece[1:]
    places = np.minimum(np.searchsorted(phrases, keys), len(phrases) - 1)
    starts = np.flatnonzero(phrases[places] == keys)
    if not len(starts):
        return piece
    # Of a run of overlapping phrases take every other one, starting with the first.
    begins = np.flatnonzero(np.diff(starts, prepend=-2) > 1)
    run = np.repeat(starts[begins], np.diff(begins, append=len(starts)))
    taken = starts[(starts - run) % 2 == 0]
    made = piece.copy()
    made[taken] = size + places[taken]
    return np.delete(made, taken + 1)


def _pieces(stream: Int32[np.ndarray, " N"]) -> Iterator[Int32[np.ndarray, " n"]]:
    """The stream in pieces that end at line ends, if possible."""
    begin = 0
    while begin < len(stream):
        piece = stream[begin : begin + PIECE]
        ends = np.flatnonzero(piece == 0)
        cut = int(ends[-1]) + 1 if len(ends) and begin + PIECE < len(stream) else len(piece)
        yield piece[:cut]
        begin += cut
