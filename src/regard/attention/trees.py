"""Distances and depths of words in a dependency tree, for `positions.TreeDistance` (Wang et al. 2019)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import DataError


def tree_distances(parents: Int[Tensor, "B S"]) -> Int[Tensor, "B S S"]:
    """Number of edges between each two words of a tree.

    `parents` are the indices of the words' parents; roots and padding have −1 or themselves. Several roots are joined
    by a common parent.
    """
    ancestors = _ancestors(parents)
    depths = ancestors.sum(-1)
    shared = ancestors @ ancestors.mT
    return (depths[:, :, None] + depths[:, None, :] - 2 * shared).long()


def tree_depths(parents: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Number of edges from each word to its root: the absolute structural positions of Wang et al. 2019."""
    return _ancestors(parents).sum(-1).long() - 1


def _ancestors(parents: Int[Tensor, "B S"]) -> Float[Tensor, "B S S"]:
    """1 where the word of the column is the word of the row or an ancestor of it."""
    size = parents.shape[-1]
    _check(parents)
    index = torch.arange(size, device=parents.device)
    ancestors = ((parents[..., None] == index) | (index[:, None] == index)).float()
    for _ in range(size.bit_length()):  # each product doubles the number of generations
        ancestors = (ancestors @ ancestors).clamp_max(1)
    _check_acyclic(ancestors)
    return ancestors


def _check(parents: Int[Tensor, "B S"]) -> None:
    size = parents.shape[-1]
    wrong = (parents < -1) | (parents >= size)
    if wrong.any():
        row, word = wrong.nonzero()[0].tolist()
        raise DataError(
            f"tree {row}: word {word} has parent {int(parents[row, word])}, which is not a word; "
            f"allowed are 0 to {size - 1}, and -1 for a root"
        )


def _check_acyclic(ancestors: Float[Tensor, "B S S"]) -> None:
    both: Bool[Tensor, "B S S"] = (ancestors.bool() & ancestors.mT.bool()).triu(1)
    if both.any():
        row, first, second = both.nonzero()[0].tolist()
        raise DataError(
            f"tree {row}: words {first} and {second} are each an ancestor of the other; a tree has no cycles"
        )
