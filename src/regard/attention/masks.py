"""Boolean attention masks, True = may attend: the opposite of the masks of `nn.MultiheadAttention`.

A mask is broadcast to the scores "B H Q K". The queries are positions `offset … offset + queries - 1` of the sequence
whose positions 0 … keys - 1 are the keys; by default they are the last ones, as in decoding with a cache.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import UsageError
from regard.misuse import explained


@explained
def causal(
    queries: int, keys: int | None = None, offset: int | None = None, device: torch.device | None = None
) -> Bool[Tensor, "Q K"]:
    """Each position sees itself and earlier ones (True = may attend)."""
    return _distances(queries, keys, offset, device) <= 0


@explained
def window(
    queries: int,
    keys: int | None = None,
    offset: int | None = None,
    *,
    size: int,
    causal: bool = False,
    device: torch.device | None = None,
) -> Bool[Tensor, "Q K"]:
    """Each position sees itself and `size` positions on either side, or only earlier ones if `causal` (True = may
    attend)."""
    if size < 0:
        raise UsageError(f"size = {size} of a window is negative; give 0 (each position sees only itself) or more")
    distances = _distances(queries, keys, offset, device)
    near = distances >= -size
    return near & (distances <= (0 if causal else size))


@explained
def padding(keep: Bool[Tensor, "B K"]) -> Bool[Tensor, "B 1 1 K"]:
    """Every query sees the real tokens of its own row, those that `keep` (True = a real token; a `key_padding_mask` of
    `nn.MultiheadAttention` is the opposite)."""
    return keep[:, None, None, :]


def same(queries: Int[Tensor, "B Q"], keys: Int[Tensor, "B K"]) -> Bool[Tensor, "B 1 Q K"]:
    """Every query sees the keys with its number: sequences packed into one row do not see each other."""
    return queries[:, None, :, None] == keys[:, None, None, :]


def additive(mask: Bool[Tensor, "*shape"], dtype: torch.dtype) -> Float[Tensor, "*shape"]:
    """The mask as a bias: 0 where one may attend, −inf elsewhere."""
    if mask.is_cuda:
        return mask.to(dtype).log_()  # two kernels; `where` would first make tensors of its two numbers
    return torch.where(mask, 0.0, -torch.inf).to(dtype)


@explained
def combine(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """The conjunction of masks; `None` allows everything."""
    combined: Tensor | None = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined & mask
    return combined


def _distances(queries: int, keys: int | None, offset: int | None, device: torch.device | None) -> Tensor:
    """Position of the key minus position of the query, "Q K"."""
    keys = queries if keys is None else keys
    if min(queries, keys) < 0:
        raise UsageError(f"a mask of {queries} queries and {keys} keys; give numbers that are not negative")
    offset = keys - queries if offset is None else offset
    return torch.arange(keys, device=device) - torch.arange(offset, offset + queries, device=device)[:, None]
