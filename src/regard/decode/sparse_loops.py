"""A loop compiled by numba that multiplies by what is not zero; imported when it is first needed."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float
from llvmlite import ir
from numba import float32, njit, types
from numba.extending import intrinsic
from torch import Tensor

from regard.attention.loops import SUMS, TOGETHER, floats

SHARE, FIRST = 5, 4
"""Where more than one number in so many is not zero, a product with all of them takes less time; of so many rows it may
be more before that is found out."""

FEW = 16
"""Rows of which a product is not sooner done by several threads. Of more it is, while this loop has one."""

LANES = 16
"""Numbers that are looked at together."""


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


@intrinsic
@no_type_check
def _which(typing, numbers, begin):
    """Of LANES numbers from a place on, those that are not zero, each a bit."""

    def generate(context, builder, signature, arguments):
        several = ir.VectorType(ir.FloatType(), LANES)
        address = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), several.as_pointer())
        loaded = builder.load(address, align=4)
        # What is no number is not zero.
        bits = builder.fcmp_unordered("!=", loaded, ir.Constant(several, [0.0] * LANES))
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(types.CPointer(types.float32), types.int64), generate


@intrinsic
@no_type_check
def _lowest(typing, bits):
    """The place of the lowest bit; there must be one."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _times_few(features, columns, bias, made, count, inputs, width, share):
    """One row after another; whether all of them were done."""
    given, matrix, added, result = floats(features), floats(columns), floats(bias), floats(made)
    # Numbers that are not zero, and where their columns begin.
    numbers, places = np.empty(inputs + TOGETHER, dtype=np.float32), np.empty(inputs + TOGETHER, dtype=np.int64)
    sums = np.empty(width, dtype=np.float32)
    active, whole = 0, inputs // LANES * LANES
    for row in range(count):
        begin, found = row * inputs, 0
        for first in range(0, whole, LANES):
            bits = _which(given, begin + first)
            while bits:
                place = first + _lowest(bits)
                numbers[found], places[found] = given[begin + place], place * width
                found += 1
                bits &= bits - 1
        for place in range(whole, inputs):
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
