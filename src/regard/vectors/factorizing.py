"""Vectors from counts: what the counts are turned into, and the few directions in which most of it lies.

Counts of words and their company become positive pointwise mutual information, max(0, log P(w, c) − log P(w) −
log P(c) − log k), where contexts are smoothed, P(c) ∝ count(c)^α, and shifted by k (Levy et al. 2015); or they stay
counts, square roots or logarithms of them. With the truncated singular value decomposition U Σ Vᵀ the vectors are U Σᵖ.
Hellinger PCA (Lebret and Collobert 2014) takes square roots of P(c | w), so that Euclidean distances are Hellinger
distances, and the principal components of these.
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
"""Entries that are turned into something else together."""

Entries = tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"], Float32[np.ndarray, " n"]]
"""Rows, columns and values."""


def scaled(counts: Cooccurrence, scaling: Scaling, *, smoothing: float = 0.75, shift: float = 1.0) -> csr_array:
    """What is factorized, by the recipe's name for it."""
    if scaling == "ppmi":
        return ppmi(counts, smoothing=smoothing, shift=shift)
    return _matrix(counts, lambda rows, columns, values: SCALES[scaling](values))


def ppmi(counts: Cooccurrence, *, smoothing: float = 0.75, shift: float = 1.0) -> csr_array:
    """Positive pointwise mutual information; entries that are not positive are left out."""
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
    """Square roots of P(c | w) over the first `contexts` words, which are the most frequent ones, or over all if 0;
    each column less its mean."""
    most = contexts or counts.size
    sums = marginals(counts, contexts=most)

    def roots(rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.sqrt(np.where(columns < most, values, 0) / np.maximum(sums[rows], 1e-30))
        return found

    return centered(_matrix(counts, roots)[:, :most])


def centered(matrix: csr_array) -> LinearOperator:
    """A sparse matrix less the mean of each column, without making it dense."""
    means: Float64[np.ndarray, " C"] = np.asarray(matrix.mean(0, dtype=np.float64)).ravel()
    ones = np.ones((matrix.shape[0], 1))
    return aslinearoperator(matrix) - aslinearoperator(ones) @ aslinearoperator(means[None])


def check_dimension(dimension: int, contexts: int) -> None:
    """Refuses more dimensions than there can be; call it before anything takes long."""
    if dimension > contexts - 1:
        raise UsageError(
            f"vectors.dimension = {dimension}, but words with {contexts} contexts have at most {contexts - 1} "
            "dimensions; lower it, or give more text"
        )


def truncated(
    matrix: csr_array | LinearOperator, dimension: int, *, power: float = 0.5, seed: int = 1
) -> Float32[np.ndarray, "V D"]:
    """U Σᵖ of the largest singular values, largest first; each direction points to where its largest part is."""
    check_dimension(dimension, min(matrix.shape))
    start = np.random.default_rng(seed).standard_normal(min(matrix.shape)).astype(matrix.dtype)
    left, values, _ = svds(matrix, k=dimension, v0=start)
    order = np.argsort(-values)
    left = left[:, order] * np.maximum(values[order], 0) ** power
    signs = np.sign(left[np.argmax(np.abs(left), 0), np.arange(dimension)])
    return np.ascontiguousarray(left * np.where(signs == 0, 1, signs), dtype=np.float32)


def marginals(counts: Cooccurrence, *, contexts: int | None = None) -> Float64[np.ndarray, " V"]:
    """The sum of each row, or of its part in the first `contexts` columns."""
    sums = np.zeros(counts.size)
    for rows, columns, values in _pieces(counts):
        kept = values if contexts is None else np.where(columns < contexts, values, 0)
        sums += np.bincount(rows, kept, counts.size)
    return sums


def _matrix(counts: Cooccurrence, change: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> csr_array:
    """What `change` makes of rows, columns and counts, as far as it is positive."""
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
    """All entries, some whole rows at a time."""
    first = 0
    while first < counts.size:
        last = max(first + 1, int(np.searchsorted(counts.starts, counts.starts[first] + AT_ONCE, "right")) - 1)
        span = slice(int(counts.starts[first]), int(counts.starts[last]))
        yield counts.rows(first, last), counts.columns[span], counts.counts[span]
        first = last
