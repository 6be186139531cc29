"""Words looked up without regard to capitals, among the most frequent ones if that is wished."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float32

from regard.vectors.vectors import Vectors


class Folded:
    """The words of vectors as a test asks for them: in lower case unless `exact`, and only the `frequent` first ones.

    Of words that differ in capitals alone, the first, which is the most frequent, stands for all of them.
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
        """The vectors of the words, each of length 1."""
        rows = np.fromiter(self._rows.values(), np.int64, len(self._rows))
        found: np.ndarray = self._vectors.matrix[rows] / self._vectors.norms[rows, None]
        return found

    def fold(self, word: str) -> str:
        """The word as it is looked up."""
        return word if self.exact else word.lower()

    def places(self, words: Sequence[str]) -> tuple[int, ...] | None:
        """The rows of words in `unit`; nothing if one of them is unknown."""
        found = [self._places.get(self.fold(word), -1) for word in words]
        return None if -1 in found else tuple(found)
