"""Distances and depths of words in a dependency tree, for `positions.TreeDistance` (Wang et al. 2019)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import DataError


def tree_distances(parents: Int[Tensor, "B S"]) -> Int[Tensor, "B S S"]:
    """Steps from each word to each other one along the tree's edges.

    `parents` has the index of each word's parent; a root has −1 or itself, and so has padding. Several roots hang on
    one point above them.
    """
    lines = _lines(parents)
    depths = lines.sum(-1)
    # Two lines of ancestors have in common what lies above the point where the paths meet, and that point.
    shared = lines @ lines.mT
    return (depths[:, :, None] + depths[:, None, :] - 2 * shared).long()


def tree_depths(parents: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Steps from each word up to its root: the absolute structural positions of Wang et al. 2019."""
    return _lines(parents).sum(-1).long() - 1


def _lines(parents: Int[Tensor, "B S"]) -> Float[Tensor, "B S S"]:
    """1 where the word of the column is the word of the row or an ancestor of it."""
    size = parents.shape[-1]
    _check(parents)
    places = torch.arange(size, device=parents.device)
    lines = ((parents[..., None] == places) | (places[:, None] == places)).float()
    for _ in range(size.bit_length()):  # each product doubles how far up a line reaches
        lines = (lines @ lines).clamp_max(1)
    _check_acyclic(lines)
    return lines


def _check(parents: Int[Tensor, "B S"]) -> None:
    size = parents.shape[-1]
    wrong = (parents < -1) | (parents >= size)
    if wrong.any():
        row, word = wrong.nonzero()[0].tolist()
        raise DataError(
            f"tree {row}: word {word} has parent {int(parents[row, word])}, which is no word; "
            f"allowed are 0 to {size - 1}, and -1 for a root"
        )


def _check_acyclic(lines: Float[Tensor, "B S S"]) -> None:
    both: Bool[Tensor, "B S S"] = (lines.bool() & lines.mT.bool()).triu(1)
    if both.any():
        row, first, second = both.nonzero()[0].tolist()
        raise DataError(
            f"tree {row}: words {first} and {second} are each an ancestor of the other; a tree has no cycles"
        )
