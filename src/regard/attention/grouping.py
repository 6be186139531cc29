"""Products of query heads with fewer, grouped key heads (Ainslie et al. 2023), without repeating the keys."""

from jaxtyping import Float
from torch import Tensor

from regard.errors import UsageError


def grouped_matmul(left: Float[Tensor, "... R X"], right: Float[Tensor, "... X C"]) -> Float[Tensor, "... R C"]:
    """`left @ right`; where `right` has fewer heads (axis -3), each serves several consecutive heads of `left`."""
    if not _grouped(left, right):
        return left @ right
    groups = right.shape[-3]
    *leading, heads, rows, width = left.shape
    folded = left.reshape(*leading, groups, heads // groups * rows, width) @ right
    return folded.reshape(*leading, heads, rows, right.shape[-1])


def repeat_groups(query: Float[Tensor, "... Q Dq"], key: Float[Tensor, "... K Dk"]) -> Float[Tensor, "... K Dk"]:
    """The keys, repeated to as many heads as the queries have."""
    return repeat_heads(key, query.shape[-3]) if _grouped(query, key) else key


def repeat_heads(key: Float[Tensor, "... G K Dk"], heads: int) -> Float[Tensor, "... H K Dk"]:
    """Repeats each head of the keys heads / groups times."""
    if key.shape[-3] == heads:
        return key
    return key.repeat_interleave(heads // key.shape[-3], dim=-3)


def _grouped(left: Tensor, right: Tensor) -> bool:
    if left.ndim != right.ndim or left.ndim < 3 or left.shape[-3] in (1, right.shape[-3]):
        return False
    if left.shape[-3] % right.shape[-3]:
        raise UsageError(
            f"{left.shape[-3]} heads of queries cannot share {right.shape[-3]} heads of keys and values evenly; "
            "heads are the third axis from the end, and those of keys must divide those of queries"
        )
    return True
