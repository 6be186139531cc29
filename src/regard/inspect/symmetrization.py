"""Two directions of an alignment joined into one set of links.

Links are pairs (source word, target word) in both directions; `reverse` of `inspect.alignment` turns those of a model
that writes the source. `symmetrize` knows all methods by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Literal, cast, get_args

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError, one_of
from regard.inspect.inspection import Links

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final-and", "by-probability"]

THRESHOLDS: Mapping[Symmetrization, float] = MappingProxyType(
    {"intersection": 0.0, "union": 0.0, "grow-diag": 0.0, "grow-diag-final-and": 0.0, "by-probability": 0.2}
)
"""The least probability of a link unless another is given: of the links of each direction before they are joined, or of
the joined ones where they are joined by probability."""


@dataclass(frozen=True)
class Joining:
    """How two directions become one set of links."""

    method: Symmetrization = "grow-diag"
    threshold: float | None = None
    """The least probability of a link; None is that of the method."""

    @property
    def least(self) -> float:
        return THRESHOLDS[self.method] if self.threshold is None else self.threshold


GROW_DIAG = Joining()

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def intersection(forward: Links, backward: Links) -> Links:
    """The links of both directions: fewest, and most of them right."""
    return forward & backward


def union(forward: Links, backward: Links) -> Links:
    """The links of either direction."""
    return forward | backward


def grow_diag(forward: Links, backward: Links) -> Links:
    """The links of both directions, and those of either that touch a chosen one, also diagonally, as long as one of
    their two words is still without a link (Och and Ney 2003; Koehn et al. 2003, whose order this is)."""
    return frozenset(_Growing(forward, backward).chosen)


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """The same, and then the links of either direction whose words are both still unlinked (Koehn et al. 2003)."""
    growing = _Growing(forward, backward)
    for direction in (forward, backward):
        for source, target in sorted(direction):
            if source not in growing.sources and target not in growing.targets:
                growing.add((source, target))
    return frozenset(growing.chosen)


class _Growing:
    """The links chosen so far: grow-diag, once constructed.

    The published algorithm visits the chosen links in order, again and again, and adds their neighbors. To visit each
    once is enough: a neighbor that may not be added may never be, since words do not lose links.
    """

    def __init__(self, forward: Links, backward: Links) -> None:
        either = forward | backward
        self.chosen = set(forward & backward)
        self.sources = {source for source, _ in self.chosen}
        self.targets = {target for _, target in self.chosen}
        ahead = sorted(self.chosen)
        while ahead:
            behind = []
            while ahead:
                source, target = link = heappop(ahead)
                for right, down in _NEIGHBORS:
                    new = (source + right, target + down)
                    if new in either and (new[0] not in self.sources or new[1] not in self.targets):
                        self.add(new)
                        if new > link:
                            heappush(ahead, new)
                        else:
                            behind.append(new)
            ahead = behind
            heapify(ahead)

    def add(self, link: tuple[int, int]) -> None:
        self.chosen.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])


def harmonic_mean(forward: Float[np.ndarray, "T S"], backward: Float[np.ndarray, "S T"]) -> Float[np.ndarray, "T S"]:
    """The harmonic mean of the weights of both directions; 0 where one of them is."""
    both = forward + backward.T
    mean: Float[np.ndarray, "T S"] = np.divide(2 * forward * backward.T, both, out=np.zeros_like(both), where=both > 0)
    return mean


def by_probability(
    forward: Float[np.ndarray, "T S"],
    backward: Float[np.ndarray, "S T"],
    threshold: float = THRESHOLDS["by-probability"],
) -> Links:
    """The links for which the harmonic mean of both weights reaches the threshold (Chen et al. 2021)."""
    return reaching(harmonic_mean(forward, backward), threshold)


def reaching(probabilities: Float[np.ndarray, "T S"], threshold: float) -> Links:
    """The links with a nonzero probability that reaches the threshold."""
    targets, sources = np.nonzero((probabilities >= threshold) & (probabilities > 0))
    return frozenset(zip(sources.tolist(), targets.tolist(), strict=True))


_OF_LINKS = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final-and": grow_diag_final_and,
}


def symmetrize(forward: Links, backward: Links, method: Symmetrization = "grow-diag") -> Links:
    """The links of two directions joined by a method that needs no probabilities."""
    if method not in _OF_LINKS:
        raise UsageError(
            f"links alone are joined by {one_of(_OF_LINKS)}; {method!r} needs the weights of both directions"
        )
    return _OF_LINKS[method](forward, backward)


def symmetrization_named(name: str) -> Symmetrization:
    """The name itself; refuses those that are not known."""
    if name not in get_args(Symmetrization):
        raise UsageError(f"symmetrization {name!r} is not known; known are {one_of(get_args(Symmetrization), name)}")
    return cast(Symmetrization, name)
