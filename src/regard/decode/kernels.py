"""Triton kernels. This module is imported where there is a CUDA device and Triton, and nowhere else."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

SHARE = 2048
"""Numbers for each warp."""


def highest(
    numbers: Float[Tensor, "*rows V"], count: int
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The highest numbers of each row and their places, as `topk` gives them; but -inf may be found at one place twice.

    On rows as long as a vocabulary `topk` goes over the numbers many times; here a program holds all of a row.
    """
    size = numbers.shape[-1]
    best = numbers.new_empty(*numbers.shape[:-1], count)
    places = torch.empty_like(best, dtype=torch.long)
    block = triton.next_power_of_2(size)
    warps = min(max(block // SHARE, 1), 16)
    _highest[(best.numel() // count,)](numbers.contiguous(), best, places, size, count, block, num_warps=warps)
    return best, places


@triton.jit
@no_type_check
def _highest(numbers, best, places, size, count: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    index = tl.arange(0, block)
    held = tl.load(numbers + row * size + index, mask=index < size, other=float("-inf"))
    # What is no number counts as the highest, as it does for `topk`.
    held = tl.where(held != held, float("inf"), held)
    for rank in tl.static_range(count):
        most, place = tl.max(held, 0, return_indices=True)
        tl.store(best + row * count + rank, tl.where(most == float("inf"), float("nan"), most))
        tl.store(places + row * count + rank, place.to(tl.int64))
        held = tl.where(index == place, float("-inf"), held)
