"""The characters of many lines as one array, for vectorized counts per line."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

LONGEST_GRAM = 4
HASHES = 1 << 16
"""Different hashes of character n-grams."""

_MARKS = ("0123456789", "?？؟", "!！", ",，、،", ":：", ";；؛", '(（「"“”„«»', "%％")
"""Kinds of marks that a translation often keeps."""


def _mark_bits() -> npt.NDArray[np.uint8]:
    bits = np.zeros(1 << 16, dtype=np.uint8)
    for kind, marks in enumerate(_MARKS):
        bits[[ord(mark) for mark in marks]] = 1 << kind
    return bits


_MARK_BITS = _mark_bits()


@dataclass(frozen=True)
class Characters:
    """Lower-cased lines, each after a few line feeds, so that no n-gram reaches from one line into another."""

    codes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    """Start of each line, including the line feeds before it."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Characters":
        folded = [line.lower() for line in lines]
        gap = "\n" * (LONGEST_GRAM - 1)
        text = gap + gap.join(folded) + gap
        lengths = np.fromiter(map(len, folded), dtype=np.int64, count=len(folded)) + len(gap)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return cls(codes, np.cumsum(lengths) - lengths)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Characters of each line."""
        gap = LONGEST_GRAM - 1
        return np.diff(self.starts, append=len(self.codes) - gap) - gap

    def marks(self) -> npt.NDArray[np.uint8]:
        """Which kinds of digits and punctuation each line has, a bit for each kind."""
        bits = _MARK_BITS[np.minimum(self.codes, len(_MARK_BITS) - 1)]
        return np.bitwise_or.reduceat(bits, self.starts) if len(self.starts) else bits[:0]

    @cached_property
    def _grams(self) -> dict[int, npt.NDArray[np.uint16]]:
        return {}

    def grams(self, order: int) -> npt.NDArray[np.uint16]:
        """A hash of the n-gram that begins at each character, up to the end of the last line."""
        if order not in self._grams:
            self._grams[order] = self._hashed(order)
        return self._grams[order]

    def _hashed(self, order: int) -> npt.NDArray[np.uint16]:
        last = len(self.codes) - LONGEST_GRAM + 1
        found = self.codes[:last].copy()
        for further in range(1, order):
            found = found * np.uint32(0x01000193) + self.codes[further : last + further]
        return ((found * np.uint32(0x9E3779B1)) >> np.uint32(16)).astype(np.uint16)

    def summed(self, values: npt.NDArray[np.bool_] | npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The sum over each line of something that each n-gram has."""
        sums = np.concatenate([[0], np.cumsum(values, dtype=np.float64)])
        counts: npt.NDArray[np.float64] = np.diff(sums[np.append(self.starts, len(values))]).astype(np.float64)
        return counts
