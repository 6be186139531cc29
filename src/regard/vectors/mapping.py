"""Maps of words in the plane, by principal components, t-SNE or UMAP.

t-SNE needs scikit-learn (`pip install 'regard[map]'`), UMAP the package umap-learn; principal components need neither.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from jaxtyping import Float32, Float64

from regard.errors import UsageError, counted, one_of
from regard.vectors.vectors import Vectors

NEIGHBORS = 6
"""Neighbors listed with each word: the nearest by their full vectors."""
LEAST = 3
"""Minimum number of words of a map."""


@dataclass(frozen=True, repr=False)
class WordMap:
    """Words with positions in the plane."""

    words: tuple[str, ...]
    places: Float64[np.ndarray, "N 2"]
    """From −1 to 1 along the longer side."""
    groups: tuple[str, ...]
    """The group of each word, or an empty string."""
    neighbors: tuple[tuple[int, ...], ...]
    """For each word, the nearest others of the map, by the cosine of their full vectors."""
    cosines: tuple[tuple[float, ...], ...]
    """Those with each of its neighbors."""
    conditions: str
    """Method and settings."""

    def __repr__(self) -> str:
        return f"<WordMap of {counted(len(self.words), 'word')}: {self.conditions}>"


def word_map(
    vectors: Vectors,
    words: Sequence[str] = (),
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    top: int = 0,
    method: str = "tsne",
    seed: int = 1,
) -> WordMap:
    """A map of the given words, those of the groups, and the `top` most frequent ones.

    A word of several groups belongs to the first.
    """
    if method not in METHODS:
        raise UsageError(f"method = {method!r}: choose {one_of(METHODS, method)}")
    chosen: dict[str, str] = {}
    for name, members in (groups or {}).items():
        for word in members:
            chosen.setdefault(word, name)
    for word in (*words, *vectors.words[:top]):
        chosen.setdefault(word, "")
    if len(chosen) < LEAST:
        raise UsageError(f"a map needs at least {LEAST} words, not {len(chosen)}; name more, or ask for more by top")
    unit = vectors.unit(list(chosen))
    places = _framed(METHODS[method](unit, seed))
    name = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}[method]
    said = f"{name} of {counted(len(chosen), 'word')}, by cosine, seed {seed}"
    return WordMap(tuple(chosen), places, tuple(chosen.values()), *_neighbors(unit), said)


def pca(unit: Float32[np.ndarray, "N D"], seed: int) -> Float64[np.ndarray, "N 2"]:
    """The first two principal components; signs make the largest component of each positive."""
    centered = (unit - unit.mean(0)).astype(np.float64)
    if centered.shape[1] < 2:
        centered = np.pad(centered, ((0, 0), (0, 1)))
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    places = left[:, :2] * values[:2]
    signs = np.sign(places[np.abs(places).argmax(0), [0, 1]])
    turned: np.ndarray = places * np.where(signs == 0, 1, signs)
    return turned


def tsne(unit: Float32[np.ndarray, "N D"], seed: int) -> Float64[np.ndarray, "N 2"]:
    """Preserves neighborhoods (van der Maaten and Hinton 2008); distances between distant groups mean little."""
    if find_spec("sklearn") is None:
        raise UsageError(
            "method = 'tsne' needs scikit-learn, which is not installed; install it (pip install 'regard[map]'), "
            "or choose 'pca' (--method pca), which needs nothing more"
        )
    from sklearn.manifold import TSNE

    # Between vectors of length 1, Euclidean distances order words as cosines do.
    perplexity = min(30.0, (len(unit) - 1) / 3)
    start = pca(unit, seed) / (pca(unit, seed).std() or 1.0) * 1e-4
    model = TSNE(2, perplexity=perplexity, init=start.astype(np.float32), random_state=seed)
    return np.asarray(model.fit_transform(unit), dtype=np.float64)


def umap(unit: Float32[np.ndarray, "N D"], seed: int) -> Float64[np.ndarray, "N 2"]:
    """Preserves neighborhoods and more of the global structure (McInnes et al. 2018); needs the package umap-learn."""
    if find_spec("umap") is None:
        raise UsageError(
            "method = 'umap' needs the package umap-learn, which is not installed; "
            "install it (pip install umap-learn), or choose 'tsne' or 'pca'"
        )
    from umap import UMAP

    model = UMAP(n_neighbors=min(15, len(unit) - 1), init=pca(unit, seed), random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(unit), dtype=np.float64)


METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {"pca": pca, "tsne": tsne, "umap": umap}


def available() -> list[str]:
    """The methods whose packages are installed, the most informative first."""
    needed = {"tsne": "sklearn", "umap": "umap"}
    return [method for method in ("tsne", "umap", "pca") if method not in needed or find_spec(needed[method])]


def _framed(places: Float64[np.ndarray, "N 2"]) -> Float64[np.ndarray, "N 2"]:
    """Centered and scaled, both axes alike, into the square from −1 to 1."""
    low, high = places.min(0), places.max(0)
    half, rounding = float((high - low).max()) / 2, np.finfo(np.float64)
    if half <= max(4 * rounding.eps * np.abs(places).max(), rounding.tiny):  # one place, but for rounding
        return np.zeros_like(places)
    framed: np.ndarray = (places - (low + high) / 2) / half
    return framed


def _neighbors(
    unit: Float32[np.ndarray, "N D"],
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[float, ...], ...]]:
    """The nearest of each, and their cosines."""
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, : min(NEIGHBORS, len(unit) - 1)]
    found = np.take_along_axis(cosines, order, 1)
    return tuple(map(tuple, order.tolist())), tuple(map(tuple, found.tolist()))
