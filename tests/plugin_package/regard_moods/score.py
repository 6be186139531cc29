"""A score of one's own: minus the sum of absolute differences."""

from torch import Tensor

from regard.attention.scores import Function, Score


def taxicab(query_width: int, key_width: int, *, hidden: int, heads: int = 1) -> Score:
    def compare(query: Tensor, key: Tensor) -> Tensor:
        return -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)

    return Function(compare)
