"""Quantizing to int8 and back, before and after an integer product, on CPUs; compiled by numba."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float, Float32, Int8, Int32
from numba import float32, int8, int32, njit
from torch import Tensor

MOST = float32(127)
"""The highest int8 value used; the lowest is its negative."""

LEAST = float32(1e-30)
"""Rows whose values are all smaller count as zeros."""

SIGNLESS = int32(0x7FFFFFFF)


def rounded(rows: Float[Tensor, "N E"]) -> tuple[Int8[Tensor, "N E"], Float[Tensor, " N"]]:
    """Rows in int8, and the scale of each row."""
    numbers, scales = torch.empty_like(rows, dtype=torch.int8), rows.new_empty(len(rows))
    _round(rows.detach().numpy(), numbers.numpy(), scales.numpy())
    return numbers, scales


@njit(nogil=True, cache=True, error_model="numpy")
@no_type_check
def _round(
    rows: Float32[np.ndarray, "N E"], numbers: Int8[np.ndarray, "N E"], scales: Float32[np.ndarray, " N"]
) -> None:
    for place in range(len(rows)):
        row, found = rows[place], numbers[place]
        # The bits of absolute values, read as integers, are in the same order; NaN comes last.
        bits, top_bits = row.view(np.int32), int32(0)
        for feature in range(len(row)):
            top_bits = max(top_bits, bits[feature] & SIGNLESS)
        top = np.int32(top_bits).view(np.float32)
        scales[place] = top / MOST
        inverse = MOST / top if top > LEAST else float32(0)
        if inverse:  # 0 for rows of zeros, and rows with infinity or NaN
            for feature in range(len(row)):
                found[feature] = int8(np.rint(row[feature] * inverse))
        else:
            found[:] = 0  # times a scale of NaN or infinity, which gives NaN


def scaled_(
    sums: Int32[Tensor, "N V"], rows: Float[Tensor, " N"], columns: Float[Tensor, " V"], bias: Tensor | None
) -> Float[Tensor, "N V"]:
    """Sums times the scales of their rows and columns, with a bias, in place."""
    added = columns.new_zeros(0) if bias is None else bias.detach().float()
    _scale(sums.numpy(), rows.numpy(), columns.numpy(), added.numpy())
    return sums.view(torch.float32)


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
@no_type_check
def _scale(
    sums: Int32[np.ndarray, "N V"],
    rows: Float32[np.ndarray, " N"],
    columns: Float32[np.ndarray, " V"],
    bias: Float32[np.ndarray, "..."],
) -> None:
    for place in range(len(sums)):
        given, scale = sums[place], rows[place]
        # A view of the same array, so that the compiler sees that each number is read before it is written.
        made = given.view(np.float32)
        if len(bias):
            for column in range(len(given)):
                made[column] = float32(given[column]) * (scale * columns[column]) + bias[column]
        else:
            for column in range(len(given)):
                made[column] = float32(given[column]) * (scale * columns[column])
