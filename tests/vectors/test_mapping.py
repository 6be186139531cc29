"""Words as points of a plane."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import regard
from hypothesis import given
from hypothesis import strategies as st
from vector_strategies import random_vectors, vectors

from regard.errors import UsageError
from regard.vectors import Vectors, mapping
from regard.vectors.mapping import METHODS, pca, word_map


def clustered() -> tuple[Vectors, list[list[str]]]:
    """Three kinds of words, each around a direction of its own."""
    rng = np.random.default_rng(0)
    centers = np.eye(8, dtype=np.float32)[:3].repeat(12, 0)
    matrix = centers + 0.15 * rng.standard_normal((36, 8)).astype(np.float32)
    words = [f"{kind}{number}" for kind in "abc" for number in range(12)]
    return Vectors(words, matrix), [words[:12], words[12:24], words[24:]]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "umap"])
def test_words_of_a_kind_are_together(method: str) -> None:
    given, kinds = clustered()
    found = word_map(given, given.words, method=method)
    places = dict(zip(found.words, found.places, strict=True))
    centers = np.array([np.mean([places[word] for word in kind], 0) for kind in kinds])
    for number, kind in enumerate(kinds):
        for word in kind:
            assert np.linalg.norm(centers - places[word], axis=1).argmin() == number


@given(vectors(least=3, elements=st.floats(-4, 4, width=16)))
def test_places_are_framed_and_neighbors_are_others(given: Vectors) -> None:
    found = word_map(given, given.words, method="pca")
    assert found.words == tuple(given.words)
    assert np.isfinite(found.places).all()
    assert np.abs(found.places).max() <= 1 + 1e-9
    for word, near in enumerate(found.neighbors):
        assert word not in near
        assert len(set(near)) == len(near) == min(mapping.NEIGHBORS, len(given) - 1)


@pytest.mark.parametrize("places", [[[0.0, 5e-324], [1e-323, 0.0]], [[1.0, 1e-17], [np.nextafter(1.0, 0.0), 0.0]]])
def test_places_that_differ_by_rounding_are_one(places: list[list[float]]) -> None:
    assert not mapping._framed(np.array(places)).any()


def test_principal_components_are_scikit_learn_s() -> None:
    from sklearn.decomposition import PCA

    unit = random_vectors(30, 6).unit(random_vectors(30, 6).words)
    np.testing.assert_allclose(np.abs(pca(unit, 0)), np.abs(PCA(2).fit_transform(unit)), atol=1e-5)


def test_which_words_and_groups() -> None:
    groups = {"a": ["w9", "w30"], "b": ["w9", "w2"]}
    found = word_map(random_vectors(), ["w30", "w1"], groups=groups, top=2, method="pca")
    assert dict(zip(found.words, found.groups, strict=True)) == {
        "w9": "a",
        "w30": "a",
        "w2": "b",
        "w1": "",
        "w0": "",
    }
    assert found.conditions == "PCA of 5 words, by cosine, seed 1"


def test_the_same_seed_gives_the_same_map() -> None:
    one, other = (word_map(random_vectors(), top=20, method="tsne", seed=3) for _ in range(2))
    assert one.places.tobytes() == other.places.tobytes()


def test_neighbors_are_the_most_similar() -> None:
    given = random_vectors()
    found = word_map(given, top=40, method="pca")
    for word, near in zip(found.words, found.neighbors, strict=True):
        expected = [other for other, _ in given.most_similar(word, top=mapping.NEIGHBORS)]
        assert [found.words[place] for place in near] == expected


@pytest.mark.skipif(importlib.util.find_spec("umap") is None, reason="needs umap-learn")
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_umap() -> None:
    assert word_map(random_vectors(), top=30, method="umap").places.shape == (30, 2)


def test_without_scikit_learn_a_map_says_what_to_install_and_what_needs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    random_vectors().save(tmp_path / "vectors")
    refused = regard("vectors", "map", tmp_path / "vectors", "-o", tmp_path / "map.html")
    assert refused.code == 2
    assert (
        "method = 'tsne' needs scikit-learn, which is not installed; install it (pip install 'regard[map]'), "
        "or choose 'pca' (--method pca), which needs nothing more"
    ) in refused.err
    drawn = regard("vectors", "map", tmp_path / "vectors", "--projection", "pca", "-o", tmp_path / "map.html")
    assert drawn.code == 0
    assert (tmp_path / "map.html").is_file()


def test_umap_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as raised:
        word_map(random_vectors(), top=10, method="umap")
    assert str(raised.value) == (
        "method = 'umap' needs the package umap-learn, which is not installed; install it (pip install umap-learn), "
        "or choose 'tsne' or 'pca'"
    )


def test_what_cannot_be_mapped() -> None:
    with pytest.raises(UsageError, match="a map needs at least 3 words, not 2; name more, or ask for more by top"):
        word_map(random_vectors(), ["w1", "w2"])
    with pytest.raises(UsageError, match="method = 'tsn': choose 'tsne', 'pca' or 'umap'"):
        word_map(random_vectors(), top=5, method="tsn")
    with pytest.raises(UsageError, match="'w99' is not among the 40 words of these vectors; nearest in spelling: 'w9'"):
        word_map(random_vectors(), ["w1", "w2", "w99"])
