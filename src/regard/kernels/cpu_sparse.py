"""Products with mostly zero features, on CPUs; compiled by numba."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from numba import float32, njit
from torch import Tensor

from regard.kernels.cpu_attention import SUMS, TOGETHER, floats

SHARE, FIRST = 5, 4
"""If more than one feature in SHARE is nonzero, the dense product is faster; FIRST rows of slack keep a few dense rows
at the beginning from deciding."""

FEW = 16
"""Up to this many rows this single-threaded loop beats a multi-threaded dense product."""


def sparse_linear(
    features: Float[Tensor, "*rows E"], columns: Float[Tensor, "E V"], bias: Float[Tensor, " V"] | None
) -> Float[Tensor, "*rows V"] | None:
    """`F.linear` with the transposed weight, which adds up only the columns of nonzero features; None if too many are
    nonzero."""
    inputs, width = columns.shape
    features = features.contiguous()
    added = bias if bias is None else bias.contiguous()
    made = features.new_empty(*features.shape[:-1], width)
    rows = features.numel() // inputs
    # Addresses, because converting tensors to arrays takes longer than a few rows.
    done = _sparse_linear(
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
def _sparse_linear(features, columns, bias, made, count, inputs, width, share):
    """Whether all rows were done."""
    given, matrix, added, result = floats(features), floats(columns), floats(bias), floats(made)
    # Nonzero features, and the offsets of their columns.
    numbers, places = np.empty(inputs + TOGETHER, dtype=np.float32), np.empty(inputs + TOGETHER, dtype=np.int64)
    sums = np.empty(width, dtype=np.float32)
    active = 0
    for row in range(count):
        begin, found = row * inputs, 0
        # Branchless: each number is written, and counted if it is nonzero, as NaN is.
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
