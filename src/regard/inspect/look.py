"""A look: where a model looked while it wrote one example, with words to read it by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from unicodedata import bidirectional, category

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError, one_of

Links = frozenset[tuple[int, int]]
"""Pairs (source position, target position), counted from 0."""
END_LABEL = "∎"
"""Label of the end of a sentence: narrow, so that it fits above a column."""


@dataclass(frozen=True)
class Look:
    """Attention of one example: rows are what was written, columns what was read.

    The labels may be subwords, words or characters; each matrix of `weights` has a row for every target label and a
    column for every source label.
    """

    source: tuple[str, ...]
    """Column labels."""
    target: tuple[str, ...]
    """Row labels."""
    weights: Mapping[str, Float[np.ndarray, "H T S"]]
    """One matrix for each head, by the name of the tap, lowest layer first."""
    gold: Links | None = None
    """The true links, where they are known."""
    title: str = field(default="", kw_only=True)
    """What stands above the picture."""

    def __post_init__(self) -> None:
        if not self.weights:
            raise UsageError("a look needs the weights of at least one tap")
        wanted = (len(self.target), len(self.source))
        for name, heads in self.weights.items():
            if heads.ndim != 3 or heads.shape[1:] != wanted or not heads.shape[0]:
                raise UsageError(
                    f"weights of {name!r} have shape {heads.shape}, but {wanted[0]} target and {wanted[1]} source "
                    f"labels need (heads, {wanted[0]}, {wanted[1]})"
                )
            if not (np.isfinite(heads).all() and (heads >= 0).all()):
                raise UsageError(
                    f"weights of {name!r} hold {heads[~(heads >= 0) | np.isinf(heads)][0]}, but weights are finite and "
                    "not negative; show what a normalizer gives, not its scores"
                )
        for source, target in sorted(self.gold or ()):
            if not (0 <= source < wanted[1] and 0 <= target < wanted[0]):
                raise UsageError(
                    f"gold link {source}-{target} is outside of {wanted[1]} source and {wanted[0]} target labels"
                )

    @property
    def heading(self) -> str:
        """The title on one line, with nothing invisible in it but spaces."""
        return " ".join(map(readable, self.title.split()))

    def matrix(self, layer: str | None = None, head: int | None = None) -> Float[np.ndarray, "T S"]:
        """One matrix out of many, as `choose` does."""
        return choose(self.weights, layer, head)


def choose(
    weights: Mapping[str, Float[np.ndarray, "H T S"]], layer: str | None = None, head: int | None = None
) -> Float[np.ndarray, "T S"]:
    """The weights of one head of one layer; without a head the mean of its heads, without a layer the mean of all.

    A layer is named by its tap; every layer counts the same in the mean, however many heads it has.
    """
    if layer is not None and layer not in weights:
        raise UsageError(f"there are no weights of a layer {layer!r}; there are {one_of(weights, layer)}")
    chosen = list(weights.values()) if layer is None else [weights[layer]]
    fewest = min(len(heads) for heads in chosen)
    if head is not None and not 0 <= head < fewest:
        raise UsageError(f"there is no head {head}; heads are counted from 0 to {fewest - 1}")
    means = [heads.mean(axis=0) if head is None else heads[head] for heads in chosen]
    mean: Float[np.ndarray, "T S"] = np.mean(means, axis=0)
    return mean


def readable(label: str) -> str:
    """A label in which nothing is invisible: white space as `␣`, other control characters as `�`, no text as `∅`."""
    return "".join(_visible(character) for character in label) or "∅"


def _visible(character: str) -> str:
    if character.isspace():
        return "␣"
    return "�" if category(character) in {"Cc", "Cs"} else character


def runs_right_to_left(labels: Sequence[str]) -> bool:
    """Whether most of the letters are of a script that is written from right to left."""
    directions = [bidirectional(character) for label in labels for character in label]
    leftward = sum(direction in {"R", "AL"} for direction in directions)
    return leftward > directions.count("L")
