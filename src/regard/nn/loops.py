"""Loops compiled by numba, for CPUs; imported when the first of them is needed."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from numba import float32, njit
from torch import Tensor

from regard.kernels.cpu_attention import SUMS, floats


def add_norm(
    stream: Float[Tensor, "*rows E"],
    added: Float[Tensor, "*rows E"],
    weight: Float[Tensor, " E"],
    bias: Float[Tensor, " E"],
    epsilon: float,
) -> tuple[Float[Tensor, "*rows E"], Float[Tensor, "*rows E"]]:
    """The sum of two tensors, and its layer normalization: a row is near the processor until it is done with."""
    total, normal = torch.empty_like(stream), torch.empty_like(stream)
    # Addresses, as kernels have them: making arrays of tensors takes longer than a few rows do.
    _add_norm(
        stream.data_ptr(),
        added.data_ptr(),
        weight.data_ptr(),
        bias.data_ptr(),
        total.data_ptr(),
        normal.data_ptr(),
        stream.numel(),
        stream.shape[-1],
        epsilon,
    )
    return total, normal


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _add_norm(stream, added, weight, bias, total, normal, count, width, epsilon):
    """One row after another. Nothing is written while numbers are added up: whether several are at once, which is
    another order, would depend on whether they lie close to what is written."""
    left, right, scale, shift = floats(stream), floats(added), floats(weight), floats(bias)
    sums, result = floats(total), floats(normal)
    for begin in range(0, count, width):
        for place in range(begin, begin + width):
            sums[place] = left[place] + right[place]
        mean = float32(0)
        for place in range(begin, begin + width):
            mean += sums[place]
        mean /= float32(width)
        variance = float32(0)
        for place in range(begin, begin + width):
            variance += (sums[place] - mean) ** 2
        steepness = float32(1) / np.sqrt(variance / float32(width) + float32(epsilon))
        for feature in range(width):
            result[begin + feature] = (sums[begin + feature] - mean) * steepness * scale[feature] + shift[feature]
