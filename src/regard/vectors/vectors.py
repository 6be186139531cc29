"""Words and their vectors."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float32

from regard.display import html_table
from regard.errors import UsageError, counted, one_of
from regard.misuse import explained
from regard.vectors import files, native, similarity
from regard.vectors.spelling import nearest_spelled

if TYPE_CHECKING:
    import torch


FIRST = 20
"""Words that a notebook shows of all."""


def are_vectors(path: str | Path) -> bool:
    """Whether a path is a folder of vectors, or a file, which then should be one of vectors."""
    return native.is_native(Path(path)) or Path(path).is_file()


class Neighbor(NamedTuple):
    """A word and its similarity."""

    word: str
    score: float


class Neighbors(list[Neighbor]):
    """Words near to others, nearest first; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return html_table([(word, f"{score:.4f}") for word, score in self], heading=("word", "score"))


@explained
class Vectors:
    """A vector for each of V words, usually most frequent first: `vectors["hotel"]`, `"motel" in vectors`.

    The matrix may be memory-mapped: words and numbers are then read when they are needed.
    """

    def __init__(
        self, words: Sequence[str], matrix: Float32[np.ndarray, "V D"], about: Mapping[str, Any] | None = None
    ) -> None:
        if matrix.ndim != 2 or matrix.dtype != np.float32:
            raise UsageError(f"vectors are a matrix of float32, but this is {matrix.dtype} of shape {matrix.shape}")
        if len(words) != len(matrix):
            raise UsageError(f"{counted(len(words), 'word')} cannot have {counted(len(matrix), 'vector')}")
        self.matrix = matrix
        self.about: Mapping[str, Any] = about or {}
        self._words: Sequence[str] | native.NativeFolder = words

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Loads a folder written by `save`, or a file of word2vec, GloVe or fastText, compressed by gzip or not."""
        path = Path(path)
        if not path.is_dir():
            return cls(*files.read(path))
        if not native.is_native(path):
            raise UsageError(f"{path}: no vectors in this folder (no {native.POINTER}); name another, or a file")
        folder = native.open_native(path)
        vectors = cls.__new__(cls)
        vectors.matrix, vectors.about, vectors._words = folder.matrix, folder.about, folder
        return vectors

    def save(self, path: str | Path) -> None:
        """Writes the native folder atomically: a reader sees the old vectors or the new ones."""
        native.write_native(Path(path), self.words, self.matrix, self.about)

    def embeddings(self) -> "dict[str, Vectors]":
        """Themselves, as trained models give the vectors that they have learned."""
        return {"words": self}

    @property
    def words(self) -> Sequence[str]:
        """The words, in the order of the matrix's rows."""
        if isinstance(self._words, native.NativeFolder):
            self._words = self._words.words()
        return self._words

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The row of each word."""
        places = {word: place for place, word in enumerate(self.words)}
        if len(places) != len(self.words):
            twice = next(word for place, word in enumerate(self.words) if places[word] != place)
            raise UsageError(f"{twice!r} is among the words twice; a word has one vector")
        return places

    @cached_property
    def norms(self) -> Float32[np.ndarray, " V"]:
        """The length of each vector; 1 where it is zero."""
        return similarity.norms(self.matrix)

    @property
    def width(self) -> int:
        """Dimension of the vectors."""
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.matrix)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.places

    def __getitem__(self, word: str) -> Float32[np.ndarray, " D"]:
        row: np.ndarray = self.matrix[self.place(word)]
        return row

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {counted(len(self), 'word')} × {self.width}>"

    def _repr_html_(self) -> str:
        rows = [("words", f"{len(self):,}"), ("numbers of a vector", str(self.width))]
        method = self.about.get("method", {})
        rows += [("learned by", str(method["kind"]))] if isinstance(method, Mapping) and "kind" in method else []
        return html_table([*rows, ("the first words", ", ".join(self.words[:FIRST]))], title=type(self).__name__)

    def place(self, word: str) -> int:
        """The row of a word; the error for an unknown one suggests similar spellings."""
        if word not in self.places:
            near = nearest_spelled(word, self.words)
            advice = f"nearest in spelling: {one_of(near, word)}" if near else "no known word has a similar spelling"
            raise UsageError(f"{word!r} is not among the {counted(len(self), 'word')} of these vectors; {advice}")
        return self.places[word]

    def occurrences(self, word: str) -> int | None:
        """How often a word occurred in the text that the vectors were learned from; None if that is not known."""
        place = self.place(word)
        for count, words in self.about.get("occurrences", ()):
            if place < words:
                return int(count)
            place -= words
        return None

    def numpy(self) -> Float32[np.ndarray, "V D"]:
        """The matrix, not a copy."""
        return self.matrix

    def torch(self) -> "torch.Tensor":
        """The matrix as a tensor that shares its memory."""
        import torch

        return torch.from_numpy(self.matrix)

    def first(self, count: int | None) -> "Vectors":
        """The vectors of the first `count` words, which are the most frequent; all if None."""
        return self if count is None else Vectors(self.words[:count], self.matrix[:count], self.about)

    def unit(self, words: Sequence[str]) -> Float32[np.ndarray, "N D"]:
        """The unit vectors of words; a zero vector stays zero."""
        places = [self.place(word) for word in words]
        rows: np.ndarray = self.matrix[places] / self.norms[places, None]
        return rows

    def similarity(self, first: str, second: str) -> float:
        """The cosine of two words' vectors."""
        one, other = self.unit([first, second])
        return float(one @ other)

    def most_similar(
        self,
        positive: str | Sequence[str],
        negative: str | Sequence[str] = (),
        *,
        top: int = 10,
        method: str = "additive",
        keep_given: bool = False,
    ) -> Neighbors:
        """The words most similar to the positive and least similar to the negative ones, best first.

        The given words are left out unless `keep_given`: they are nearly always the nearest to their own sum.
        """
        positive, negative = _listed(positive), _listed(negative)
        if not positive and not negative:
            raise UsageError("most_similar needs at least one word")
        if method not in similarity.METHODS:
            raise UsageError(f"method = {method!r}: choose {one_of(similarity.METHODS, method)}")
        if top < 1:
            raise UsageError(f"top = {top}: ask for one word or more")
        combine = similarity.METHODS[method]
        scores = combine(self.matrix, self.norms, self.unit(positive), self.unit(negative))
        if not keep_given:
            scores[[self.place(word) for word in (*positive, *negative)]] = -np.inf
            top = min(top, len(self) - len({*positive, *negative}))
        best = similarity.best(scores, top)
        return Neighbors(Neighbor(self.words[place], float(scores[place])) for place in best)

    def analogy(
        self, first: str, second: str, third: str, *, top: int = 10, method: str = "additive", keep_given: bool = False
    ) -> Neighbors:
        """The words that are to `third` as `second` is to `first`: man is to woman as king is to …"""
        return self.most_similar([second, third], [first], top=top, method=method, keep_given=keep_given)

    def odd_one_out(self, words: Sequence[str]) -> str:
        """The word least similar to the mean of all given words; the first of equal ones."""
        if len(words) < 3:
            raise UsageError(f"the odd one out needs at least 3 words, not {len(words)}")
        rows = self.unit(words)
        return words[int(np.argmin(rows @ rows.mean(0)))]


def _listed(words: str | Sequence[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def load_vectors(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> Vectors:
    """The word vectors in a folder."""
    if others or changes:
        raise UsageError(f"{folder}: holds word vectors, which are read one folder at a time and as they are")
    return Vectors.load(folder)
