"""GloVe (Pennington et al. 2014): vectors whose products approximate logarithms of counts, by weighted least squares.

The objective is ½ Σ f(X) (w · c + b + b′ − log X)² over all entries X of the counts, f(X) = min(1, X / x_max)^α. Words
and contexts each have a vector and a bias; at the end both vectors of a word are added. Steps are AdaGrad's (Duchi et
al. 2011) as in the authors' program: a gradient times the rate, divided by the root of one plus the squares so far.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int32
from numba import float32, njit

from regard.vectors.cooccurrence import MIB, Cooccurrence

BYTES_AN_ENTRY = 40
"""Memory of an entry while it is loaded and shuffled."""
PIECE = 1 << 20
"""Entries distributed to files at a time."""

ENTRY = np.dtype([("row", np.int32), ("column", np.int32), ("count", np.float32)])


@dataclass
class GloveState:
    """A vector with its bias, the last column, for each word and each context, and their squared gradients."""

    words: Float32[np.ndarray, "V D+1"]
    contexts: Float32[np.ndarray, "V D+1"]
    word_squares: Float32[np.ndarray, "V D+1"]
    context_squares: Float32[np.ndarray, "V D+1"]

    @classmethod
    def begin(cls, size: int, dimension: int, seed: int) -> "GloveState":
        """Small random numbers, and squares of one."""
        rng = np.random.default_rng(seed)
        shape = (size, dimension + 1)
        words, contexts = ((rng.random(shape, np.float32) - np.float32(0.5)) / (dimension + 1) for _ in range(2))
        return cls(words, contexts, np.ones(shape, np.float32), np.ones(shape, np.float32))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def vectors(self) -> Float32[np.ndarray, "V D"]:
        """The sums of the vectors of words and contexts, without biases."""
        return np.ascontiguousarray((self.words + self.contexts)[:, :-1])


@dataclass(frozen=True)
class Glove:
    """The settings and step of GloVe."""

    rate: float = 0.05
    most: float = 100.0
    """x_max: the count from which on all entries have the same weight."""
    power: float = 0.75
    """α: the exponent of the weight below that."""
    workers: int = 1

    def learn(self, state: GloveState, entries: np.ndarray) -> float:
        """One step for each entry, in order; returns the sum of the losses before each step.

        Several workers learn from parts of the entries in parallel, without locks.
        """

        def work(part: np.ndarray) -> float:
            given = (part["row"], part["column"], part["count"])
            return KERNEL(*given, *state.arrays().values(), self.rate, self.most, self.power)

        if self.workers == 1:
            return work(entries)
        with ThreadPoolExecutor(self.workers) as threads:
            return sum(threads.map(work, np.array_split(entries, self.workers)))


def objective(state: GloveState, entries: np.ndarray, *, most: float = 100.0, power: float = 0.75) -> float:
    """The loss of entries, in float64, without learning."""
    words = state.words[entries["row"]].astype(np.float64)
    contexts = state.contexts[entries["column"]].astype(np.float64)
    counts = entries["count"].astype(np.float64)
    fitted = np.einsum("nd,nd->n", words[:, :-1], contexts[:, :-1]) + words[:, -1] + contexts[:, -1]
    weights = np.minimum(1, counts / most) ** power
    return float(0.5 * np.sum(weights * (fitted - np.log(counts)) ** 2))


class Shuffled:
    """The entries of counts in random order, reshuffled in every epoch, in bounded memory.

    They are distributed at random to files that each fit into `memory` MiB; an epoch goes through the files, and the
    entries of each, in random order. The order is a function of the seed and the epoch.
    """

    def __init__(self, counts: Cooccurrence, folder: Path, *, seed: int, memory: int = 512) -> None:
        self.seed = seed
        shares = max(1, -(-len(counts.counts) * BYTES_AN_ENTRY // (memory * MIB)))
        self.paths = [folder / f"{share}.entries" for share in range(shares)]
        folder.mkdir(parents=True, exist_ok=True)
        self._distribute(counts)

    def __len__(self) -> int:
        """Number of parts of an epoch."""
        return len(self.paths)

    def parts(self, epoch: int, first: int = 0) -> Iterator[np.ndarray]:
        """The entries in the order of an epoch, in parts, from part `first` on."""
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.paths))
        for place in order[first:]:
            entries = np.fromfile(self.paths[place], ENTRY)
            np.random.default_rng((self.seed, epoch, int(place))).shuffle(entries)
            yield entries

    def _distribute(self, counts: Cooccurrence) -> None:
        rng = np.random.default_rng(self.seed)
        for path in self.paths:
            path.write_bytes(b"")
        for first in range(0, len(counts.counts), PIECE):
            last = min(first + PIECE, len(counts.counts))
            piece = np.empty(last - first, ENTRY)
            piece["row"] = np.searchsorted(counts.starts, np.arange(first, last), "right") - 1
            piece["column"], piece["count"] = counts.columns[first:last], counts.counts[first:last]
            shares = rng.integers(len(self.paths), size=len(piece))
            order = np.argsort(shares, kind="stable")
            borders = np.searchsorted(shares[order], np.arange(len(self.paths) + 1))
            # One at a time: there may be more files than a process may have open.
            for path, begin, end in zip(self.paths, borders, borders[1:], strict=False):
                with open(path, "ab") as file:
                    piece[order[begin:end]].tofile(file)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _learn(
    rows: Int32[np.ndarray, " n"], columns: Int32[np.ndarray, " n"], counts: Float32[np.ndarray, " n"],
    words: Float32[np.ndarray, "V D"], contexts: Float32[np.ndarray, "V D"],
    word_squares: Float32[np.ndarray, "V D"], context_squares: Float32[np.ndarray, "V D"],
    rate: float, most: float, power: float,
) -> float:  # fmt: skip
    width = words.shape[1]
    last = width - 1
    of_word, of_context = np.empty(width, np.float32), np.empty(width, np.float32)
    loss = 0.0
    for place in range(len(rows)):
        row, column = rows[place], columns[place]
        product = float32(0)
        for number in range(last):
            product += words[row, number] * contexts[column, number]
        difference = product + words[row, last] + contexts[column, last] - np.log(counts[place])
        weight = float32((counts[place] / most) ** power) if counts[place] < most else float32(1)
        loss += 0.5 * weight * difference * difference
        step = weight * difference * float32(rate)
        for number in range(last):
            of_word[number] = step * contexts[column, number]
            of_context[number] = step * words[row, number]
        of_word[last] = of_context[last] = step
        _step(words[row], word_squares[row], of_word)
        _step(contexts[column], context_squares[column], of_context)
    return loss


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True, inline="always")
def _step(values: np.ndarray, squares: np.ndarray, by: np.ndarray) -> None:
    for number in range(len(by)):
        values[number] -= by[number] / np.sqrt(squares[number])
        squares[number] += by[number] * by[number]


KERNEL: Callable[..., float] = _learn
