"""Vectors by factorizing a matrix of co-occurrence counts.

The counts become positive pointwise mutual information, max(0, log P(w, c) − log P(w) − log P(c) − log k), with
smoothed contexts, P(c) ∝ count(c)^α, and a shift k (Levy et al. 2015); or they stay counts, their square roots or
logarithms. With the truncated singular value decomposition U Σ Vᵀ the vectors are U Σᵖ. Hellinger PCA (Lebret and
Collobert 2014) takes the principal components of the square roots of P(c | w), whose Euclidean distances are Hellinger
distances.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float32, Float64, Int32
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator, svds

from regard.errors import UsageError
from regard.vectors.cooccurrence import Cooccurrence

Scaling = Literal["ppmi", "counts", "sqrt", "log"]

SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {"counts": np.array, "sqrt": np.sqrt, "log": np.log1p}

AT_ONCE = 1 << 22
"""Entries processed at a time."""

Entries = tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"], Float32[np.ndarray, " n"]]
"""Rows, columns and values."""


def scaled(counts: Cooccurrence, scaling: Scaling, *, smoothing: float = 0.75, shift: float = 1.0) -> csr_array:
    """The matrix to factorize, by the recipe's name of the scaling."""
    if scaling == "ppmi":
        return ppmi(counts, smoothing=smoothing, shift=shift)
    return _matrix(counts, lambda rows, columns, values: SCALES[scaling](values))


def ppmi(counts: Cooccurrence, *, smoothing: float = 0.75, shift: float = 1.0) -> csr_array:
    """Positive pointwise mutual information, as a sparse matrix."""
    words = marginals(counts)
    contexts = words**smoothing
    with np.errstate(divide="ignore"):
        of_words, of_contexts = np.log(words), np.log(contexts / contexts.sum()) + np.log(shift)

    def information(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        # log P(w, c) − log P(w) is log count(w, c) − log count(w).
        found: np.ndarray = np.log(values.astype(np.float64)) - of_words[rows] - of_contexts[columns]
        return found

    return _matrix(counts, information)


def hellinger(counts: Cooccurrence, *, contexts: int = 0) -> LinearOperator:
    """Square roots of P(c | w) over the `contexts` most frequent words, or all if 0, with centered columns."""
    most = contexts or counts.size
    sums = marginals(counts, contexts=most)

    def roots(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.sqrt(np.where(columns < most, values, 0) / np.maximum(sums[rows], 1e-30))
        return found

    return centered(_matrix(counts, roots)[:, :most])


def centered(matrix: csr_array) -> LinearOperator:
    """A sparse matrix with centered columns, without making it dense."""
    means: Float64[np.ndarray, " C"] = np.asarray(matrix.mean(0, dtype=np.float64)).ravel()
    ones = np.ones((matrix.shape[0], 1))
    return aslinearoperator(matrix) - aslinearoperator(ones) @ aslinearoperator(means[None])


def check_dimension(dimension: int, contexts: int) -> None:
    """Refuses more dimensions than possible; call it before long computations."""
    if dimension > contexts - 1:
        raise UsageError(
            f"vectors.dimension = {dimension}, but words with {contexts} contexts have at most {contexts - 1} "
            "dimensions; lower it, or give more text"
        )


def truncated(
    matrix: csr_array | LinearOperator, dimension: int, *, power: float = 0.5, seed: int = 1
) -> Float32[np.ndarray, "V D"]:
    """U Σᵖ of the largest singular values, largest first; signs make the largest component of each positive."""
    check_dimension(dimension, min(matrix.shape))
    start = np.random.default_rng(seed).standard_normal(min(matrix.shape)).astype(matrix.dtype)
    left, values, _ = svds(matrix, k=dimension, v0=start)
    order = np.argsort(-values)
    left = left[:, order] * np.maximum(values[order], 0) ** power
    signs = np.sign(left[np.argmax(np.abs(left), 0), np.arange(dimension)])
    return np.ascontiguousarray(left * np.where(signs == 0, 1, signs), dtype=np.float32)


def marginals(counts: Cooccurrence, *, contexts: int | None = None) -> Float64[np.ndarray, " V"]:
    """The sum of each row, or of its first `contexts` columns."""
    sums = np.zeros(counts.size)
    for rows, columns, values in _pieces(counts):
        kept = values if contexts is None else np.where(columns < contexts, values, 0)
        sums += np.bincount(rows, kept, counts.size)
    return sums


def _matrix(counts: Cooccurrence, change: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> csr_array:
    """The sparse matrix of the positive values of `change(rows, columns, counts)`."""
    places, entries, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)], np.zeros(counts.size, np.int64)
    for rows, columns, values in _pieces(counts):
        changed = change(rows, columns, values).astype(np.float32)
        positive = changed > 0
        places.append(columns[positive])
        entries.append(changed[positive])
        lengths += np.bincount(rows[positive], minlength=counts.size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (counts.size, counts.size)
    return csr_array((np.concatenate(entries), np.concatenate(places), starts), shape=shape)


def _pieces(counts: Cooccurrence) -> Iterator[Entries]:
    """All entries, in groups of whole rows."""
    first = 0
    while first < counts.size:
        last = max(first + 1, int(np.searchsorted(counts.starts, counts.starts[first] + AT_ONCE, "right")) - 1)
        span = slice(int(counts.starts[first]), int(counts.starts[last]))
        yield counts.rows(first, last), counts.columns[span], counts.counts[span]
        first = last
