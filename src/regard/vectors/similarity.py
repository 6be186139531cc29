"""Similarity of words to a combination of given words.

It is scored additively by the cosine with the sum of the positive unit vectors minus the negative ones (3CosAdd,
Mikolov et al. 2013), or multiplicatively by Π (1 + c₊)/2 over Π (1 + c₋)/2 + ε, with c the cosines with the given words
(3CosMul, Levy and Goldberg 2014), where no single given word can outweigh the rest.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float32

EPSILON = 1e-3
"""Avoids division by zero (Levy and Goldberg 2014)."""

Combination = Callable[
    [
        Float32[np.ndarray, "V D"],
        Float32[np.ndarray, " V"],
        Float32[np.ndarray, "P D"],
        Float32[np.ndarray, "N D"],
    ],
    Float32[np.ndarray, " V"],
]
"""Scores V words, given their vectors and norms, by P positive and N negative unit vectors."""


def norms(matrix: Float32[np.ndarray, "V D"]) -> Float32[np.ndarray, " V"]:
    """The norms of vectors; 1 for a zero vector, whose cosines are thus zero."""
    lengths = np.sqrt(np.einsum("vd,vd->v", matrix, matrix))
    return np.where(lengths == 0, np.float32(1), lengths)


def additive(
    matrix: Float32[np.ndarray, "V D"],
    lengths: Float32[np.ndarray, " V"],
    positive: Float32[np.ndarray, "P D"],
    negative: Float32[np.ndarray, "N D"],
) -> Float32[np.ndarray, " V"]:
    """3CosAdd."""
    goal = positive.sum(0) - negative.sum(0)
    length = float(np.sqrt(goal @ goal)) or 1.0
    cosines: np.ndarray = matrix @ (goal / np.float32(length)) / lengths
    return cosines


def multiplicative(
    matrix: Float32[np.ndarray, "V D"],
    lengths: Float32[np.ndarray, " V"],
    positive: Float32[np.ndarray, "P D"],
    negative: Float32[np.ndarray, "N D"],
) -> Float32[np.ndarray, " V"]:
    """3CosMul, with cosines mapped to [0, 1]."""

    def product(given: np.ndarray) -> np.ndarray:
        found: np.ndarray = ((1 + matrix @ given.T / lengths[:, None]) / 2).prod(1)
        return found

    score: np.ndarray = product(positive) / (product(negative) + np.float32(EPSILON))
    return score


METHODS: dict[str, Combination] = {"additive": additive, "multiplicative": multiplicative}


def best(scores: Float32[np.ndarray, " V"], top: int) -> list[int]:
    """The indices of the highest scores, best first; ties in order of index."""
    top = min(top, len(scores))
    if not top:
        return []
    border = np.partition(scores, len(scores) - top)[len(scores) - top]
    places = np.flatnonzero(scores >= border)
    order = np.argsort(-scores[places], kind="stable")[:top]
    return [int(place) for place in places[order]]
