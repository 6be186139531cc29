"""Products with features most of which are zero, on CPUs; compiled by numba."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from numba import float32, njit
from torch import Tensor

from regard.kernels.cpu_attention import SUMS, TOGETHER, floats

SHARE, FIRST = 5, 4
"""Where more than one number in so many is not zero, a product with all of them takes less time; of so many rows it may
be more before that is found out."""

FEW = 16
"""Rows of which a product is not sooner done by several threads. Of more it is, while this loop has one."""


def times_few(
    features: Float[Tensor, "*rows E"], columns: Float[Tensor, "E V"], bias: Float[Tensor, " V"] | None
) -> Float[Tensor, "*rows V"] | None:
    """The columns of a matrix, here its transpose, each times its number of a row, added up, with a bias; None if too
    many of these numbers are not zero."""
    inputs, width = columns.shape
    features = features.contiguous()
    added = bias if bias is None else bias.contiguous()
    made = features.new_empty(*features.shape[:-1], width)
    rows = features.numel() // inputs
    # Addresses, as kernels have them: making arrays of tensors takes longer than a few rows do.
    done = _times_few(
        features.data_ptr(),
        columns.data_ptr(),
        0 if added is None else added.data_ptr(),
        made.data_ptr(),
        rows,
        inputs,
        width,
        SHARE if rows <= FEW else SHARE * torch.get_num_threads(),
    )
    return made if done else None


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _times_few(features, columns, bias, made, count, inputs, width, share):
    """One row after another; whether all of them were done."""
    given, matrix, added, result = floats(features), floats(columns), floats(bias), floats(made)
    # Numbers that are not zero, and where their columns begin.
    numbers, places = np.empty(inputs + TOGETHER, dtype=np.float32), np.empty(inputs + TOGETHER, dtype=np.int64)
    sums = np.empty(width, dtype=np.float32)
    active = 0
    for row in range(count):
        begin, found = row * inputs, 0
        # Without a branch: each number is written, and counted if it is not zero, as NaN is not.
        for place in range(inputs):
            numbers[found], places[found] = given[begin + place], place * width
            found += given[begin + place] != 0
        active += found
        if active * share > (row + FIRST) * inputs:
            return False
        while found % TOGETHER:
            numbers[found], places[found] = 0, 0
            found += 1
        for feature in range(width):
            sums[feature] = added[feature] if bias != 0 else float32(0)
        for rank in range(0, found, TOGETHER):
            a, b, c, d = numbers[rank], numbers[rank + 1], numbers[rank + 2], numbers[rank + 3]
            first, second = places[rank], places[rank + 1]
            third, fourth = places[rank + 2], places[rank + 3]
            for feature in range(width):
                sums[feature] += (
                    a * matrix[first + feature]
                    + b * matrix[second + feature]
                    + c * matrix[third + feature]
                    + d * matrix[fourth + feature]
                )
        for feature in range(width):
            result[row * width + feature] = sums[feature]
    return True
