"""Ragged rows of tokens in one array, which avoids an object for each text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Rows:
    """Concatenated rows of integers."""

    values: npt.NDArray[np.int32]
    bounds: npt.NDArray[np.int64]
    """Start of each row, then the end of the last."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Self:
        bounds = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(bounds[-1])), bounds)

    @classmethod
    def packed(cls, rows: Sequence[bytes]) -> Self:
        """Rows given as the bytes of their int32 values."""
        bounds = np.cumsum([0, *map(len, rows)], dtype=np.int64) // np.dtype(np.int32).itemsize
        return cls(np.frombuffer(bytearray().join(rows), dtype=np.int32), bounds)

    @classmethod
    def joined(cls, first: Self, second: Self) -> Self:
        """The rows of both, concatenated."""
        bounds = np.append(first.bounds, first.bounds[-1] + second.bounds[1:])
        return cls(np.append(first.values, second.values), bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.bounds)

    def lengths_of(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The lengths of some of the rows."""
        return self.bounds[chosen + 1] - self.bounds[chosen]

    def after(self, numbers: Sequence[int]) -> "Rows":
        """The same rows, each with a number prepended."""
        values = np.insert(self.values, self.bounds[:-1], numbers)
        return Rows(values, self.bounds + np.arange(len(self.bounds)))

    def picked(self, chosen: npt.NDArray[np.int64], longest: int) -> "Rows":
        """The chosen rows, in that order, each cut to `longest`."""
        lengths = np.minimum(self.lengths_of(chosen), longest)
        bounds = np.append(0, np.cumsum(lengths))
        places = np.arange(bounds[-1]) + np.repeat(self.bounds[chosen] - bounds[:-1], lengths)
        return Rows(self.values[places], bounds)

    def lists(self) -> list[list[int]]:
        values = self.values.tolist()
        return [values[start:end] for start, end in pairwise(self.bounds.tolist())]
