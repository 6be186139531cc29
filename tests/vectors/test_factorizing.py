"""Vectors from counts, against the same computed densely in float64."""

from pathlib import Path

import numpy as np
import pytest

from regard.errors import UsageError
from regard.vectors import factorizing
from regard.vectors.cooccurrence import Cooccurrence, counting
from regard.vectors.factorizing import Scaling, hellinger, scaled, truncated

SIZE = 25


@pytest.fixture(params=[1, 1 << 20], ids=["row by row", "at once"])
def counts(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cooccurrence:
    monkeypatch.setattr(factorizing, "AT_ONCE", request.param)
    rng = np.random.default_rng(0)
    tokens = np.minimum(rng.zipf(1.4, 1500) - 1, SIZE - 1).astype(np.int32)
    list(counting(tokens, SIZE, tmp_path, window=2, weighting="harmonic"))
    return Cooccurrence.load(tmp_path)


def dense(counts: Cooccurrence) -> np.ndarray:
    found = np.zeros((counts.size, counts.size))
    found[counts.rows(), counts.columns] = counts.counts
    return found


def of_dense(matrix: np.ndarray, dimension: int, power: float) -> np.ndarray:
    left, values, _ = np.linalg.svd(matrix)
    found = left[:, :dimension] * values[:dimension] ** power
    return found * np.sign(found[np.abs(found).argmax(0), range(dimension)])


@pytest.mark.parametrize(("smoothing", "shift"), [(0.75, 1.0), (1.0, 1.0), (0.75, 3.0)])
def test_positive_pointwise_mutual_information(counts: Cooccurrence, smoothing: float, shift: float) -> None:
    joint = dense(counts)
    words, contexts = joint.sum(1) / joint.sum(), joint.sum(0) ** smoothing
    with np.errstate(divide="ignore"):
        expected = np.log(joint / joint.sum() / np.outer(words, contexts / contexts.sum()) / shift)
    found = scaled(counts, "ppmi", smoothing=smoothing, shift=shift)
    np.testing.assert_allclose(found.toarray(), np.maximum(expected, 0), atol=1e-6)
    assert (found.data > 0).all()


@pytest.mark.parametrize("scaling", ["counts", "sqrt", "log"])
def test_scaled_counts(counts: Cooccurrence, scaling: Scaling) -> None:
    functions = {"counts": np.array, "sqrt": np.sqrt, "log": lambda x: np.log(1 + x)}
    np.testing.assert_allclose(scaled(counts, scaling).toarray(), functions[scaling](dense(counts)), rtol=1e-6)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_truncated_decomposition(counts: Cooccurrence, power: float) -> None:
    matrix = scaled(counts, "ppmi")
    found = truncated(matrix, 4, power=power)
    np.testing.assert_allclose(found, of_dense(matrix.toarray().astype(np.float64), 4, power), atol=2e-5)
    assert found.dtype == np.float32
    assert np.array_equal(found, truncated(matrix, 4, power=power))


@pytest.mark.parametrize("contexts", [0, 10])
def test_hellinger_pca(counts: Cooccurrence, contexts: int) -> None:
    joint = dense(counts)[:, : contexts or SIZE]
    roots = np.sqrt(joint / joint.sum(1, keepdims=True))
    expected = of_dense(roots - roots.mean(0), 3, 1.0)
    found = truncated(hellinger(counts, contexts=contexts), 3, power=1.0)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_same_as_scikit_learn(counts: Cooccurrence) -> None:
    from sklearn.decomposition import PCA

    joint = dense(counts)
    theirs = PCA(3).fit_transform(np.sqrt(joint / joint.sum(1, keepdims=True)))
    ours = truncated(hellinger(counts), 3, power=1.0)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-5)


def test_more_dimensions_than_there_are(counts: Cooccurrence) -> None:
    with pytest.raises(UsageError) as raised:
        truncated(hellinger(counts, contexts=10), 10)
    assert str(raised.value) == (
        "vectors.dimension = 10, but words with 10 contexts have at most 9 dimensions; lower it, or give more text"
    )
