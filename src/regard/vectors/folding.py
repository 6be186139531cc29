"""Case-insensitive lookup of words, optionally among the most frequent ones."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float32

from regard.vectors.vectors import Vectors


class Folded:
    """The words of vectors as evaluations look them up: in lower case unless `exact`, and only the first `frequent`.

    Of words that differ only in case, the first, which is the most frequent, is used.
    """

    def __init__(self, vectors: Vectors, *, exact: bool = False, frequent: int | None = None) -> None:
        self.exact, self.frequent = exact, frequent
        self._vectors = vectors
        self._rows: dict[str, int] = {}
        for row, word in enumerate(vectors.words[:frequent]):
            self._rows.setdefault(self.fold(word), row)
        self._places = {word: place for place, word in enumerate(self._rows)}

    @cached_property
    def unit(self) -> Float32[np.ndarray, "V D"]:
        """The unit vectors of the words."""
        rows = np.fromiter(self._rows.values(), np.int64, len(self._rows))
        found: np.ndarray = self._vectors.matrix[rows] / self._vectors.norms[rows, None]
        return found

    def fold(self, word: str) -> str:
        """The word as it is looked up."""
        return word if self.exact else word.lower()

    def places(self, words: Sequence[str]) -> tuple[int, ...] | None:
        """The rows of words in `unit`; None if one of them is unknown."""
        found = [self._places.get(self.fold(word), -1) for word in words]
        return None if -1 in found else tuple(found)
