"""Character n-grams of words, as in fastText (Bojanowski et al. 2017): a word is enclosed in the marks < and >, and
n-grams with the same hash share a row."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32, Int64, UInt8
from numba import int8, njit, uint32

SubwordRows = tuple[Int32[np.ndarray, " P"], Int64[np.ndarray, " S"]]
"""Concatenated rows of numbers; the start of each, then the end of the last."""


def rows_of_words(words: Sequence[str], shortest: int, longest: int, buckets: int) -> SubwordRows:
    """The rows whose average is the vector of each word: its own, and those of its n-grams, which come after the rows
    of all words. Without n-grams (`longest` = 0), only its own."""
    own = np.arange(len(words), dtype=np.int32)
    if not longest:
        return own, np.arange(len(words) + 1, dtype=np.int64)
    found, starts = ngrams(words, shortest, longest, buckets)
    return np.insert(found + np.int32(len(words)), starts[:-1], own), starts + np.arange(len(starts))


def ngrams(words: Sequence[str], shortest: int, longest: int, buckets: int) -> SubwordRows:
    """The buckets of the n-grams of each word."""
    marked = [f"<{word}>".encode() for word in words]
    text = np.frombuffer(b"".join(marked), dtype=np.uint8)
    ends = np.cumsum([0, *map(len, marked)], dtype=np.int64)
    starts = np.zeros(len(words) + 1, dtype=np.int64)
    _hash_all(text, ends, shortest, longest, buckets, starts, np.empty(0, dtype=np.int32))
    starts = np.cumsum(starts)
    found = np.empty(starts[-1], dtype=np.int32)
    _hash_all(text, ends, shortest, longest, buckets, starts, found)
    return found, starts


@njit(nogil=True, cache=True)
def _hash_all(
    text: UInt8[np.ndarray, " B"],
    ends: Int64[np.ndarray, " S"],
    shortest: int,
    longest: int,
    buckets: int,
    starts: Int64[np.ndarray, " S"],
    found: Int32[np.ndarray, " P"],
) -> None:
    """If `found` is empty, counts the n-grams of word w into starts[w + 1]; otherwise writes their buckets."""
    for word in range(len(ends) - 1):
        number = 0
        for begin in range(ends[word], ends[word + 1]):
            # Bytes 10xxxxxx are UTF-8 continuation bytes; no n-gram begins or ends before one.
            if text[begin] & 0xC0 == 0x80:
                continue
            hashed, length = uint32(2166136261), 0
            for end in range(begin, ends[word + 1]):
                # FNV-1a of 32 bits over signed bytes, as fastText computes it.
                hashed = uint32((hashed ^ uint32(int8(text[end]))) * uint32(16777619))
                if end + 1 < ends[word + 1] and text[end + 1] & 0xC0 == 0x80:
                    continue
                length += 1
                if length > longest:
                    break
                lone_mark = length == 1 and (begin == ends[word] or end + 1 == ends[word + 1])
                if length >= shortest and not lone_mark:
                    if len(found):
                        found[starts[word] + number] = hashed % uint32(buckets)
                    number += 1
        if not len(found):
            starts[word + 1] = number
