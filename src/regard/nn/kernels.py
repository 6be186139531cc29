"""Triton kernels. This module is imported where there is a CUDA device and Triton, and nowhere else."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

SHARE = 256
"""Features for each warp."""


def add_norm(
    stream: Float[Tensor, "*rows E"],
    added: Float[Tensor, "*rows E"],
    weight: Float[Tensor, " E"],
    bias: Float[Tensor, " E"],
    epsilon: float,
) -> tuple[Float[Tensor, "*rows E"], Float[Tensor, "*rows E"]]:
    """The sum of two tensors, and its layer normalization."""
    width = stream.shape[-1]
    total, normal = torch.empty_like(stream), torch.empty_like(stream)
    block = triton.next_power_of_2(width)
    given = stream, added, weight, bias, total, normal, width, epsilon
    _add_norm[(stream.numel() // width,)](*given, block=block, num_warps=min(max(block // SHARE, 1), 16))
    return total, normal


@triton.jit
@no_type_check
def _add_norm(stream, added, weight, bias, total, normal, width, epsilon, block: tl.constexpr):
    """One row. The sum is rounded to its format before it is normalized, as it is where both are done apart."""
    row = tl.program_id(0).to(tl.int64) * width
    feature = tl.arange(0, block)
    inside = feature < width
    left = tl.load(stream + row + feature, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(added + row + feature, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + feature, mask=inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + feature, mask=inside, other=0.0).to(tl.float32)
    rounded = (left + right).to(total.dtype.element_ty)
    tl.store(total + row + feature, rounded, mask=inside)
    summed = rounded.to(tl.float32)
    centered = tl.where(inside, summed - tl.sum(summed, 0) / width, 0.0)
    result = centered * tl.rsqrt(tl.sum(centered * centered, 0) / width + epsilon) * scale + shift
    tl.store(normal + row + feature, result.to(normal.dtype.element_ty), mask=inside)
