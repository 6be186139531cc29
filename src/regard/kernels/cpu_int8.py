"""Rounding to int8 and back, on both sides of a product of whole numbers, on CPUs; compiled by numba."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Float, Float32, Int8, Int32
from numba import float32, int8, int32, njit
from torch import Tensor

MOST = float32(127)
"""The greatest number; the least is its negative."""

LEAST = float32(1e-30)
"""Rows without anything larger count as rows of zeros."""

SIGNLESS = int32(0x7FFFFFFF)


def rounded(rows: Float[Tensor, "N E"]) -> tuple[Int8[Tensor, "N E"], Float[Tensor, " N"]]:
    """Rows as whole numbers of eight bits times a scale of each row."""
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
        # As whole numbers, the bits of numbers without a sign are in the same order; what is no number comes last.
        bits, top_bits = row.view(np.int32), int32(0)
        for feature in range(len(row)):
            top_bits = max(top_bits, bits[feature] & SIGNLESS)
        top = np.int32(top_bits).view(np.float32)
        scales[place] = top / MOST
        inverse = MOST / top if top > LEAST else float32(0)
        if inverse:  # neither of what is infinite nor of what is no number
            for feature in range(len(row)):
                found[feature] = int8(np.rint(row[feature] * inverse))
        else:
            found[:] = 0  # and these times a scale that is no number, or infinite, are no numbers


def scaled_(
    sums: Int32[Tensor, "N V"], rows: Float[Tensor, " N"], columns: Float[Tensor, " V"], bias: Tensor | None
) -> Float[Tensor, "N V"]:
    """Sums times the scales of their rows and columns, with a bias, written in their place."""
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
        # Given as one array, so that the compiler sees that each number is read before it is written.
        made = given.view(np.float32)
        if len(bias):
            for column in range(len(given)):
                made[column] = float32(given[column]) * (scale * columns[column]) + bias[column]
        else:
            for column in range(len(given)):
                made[column] = float32(given[column]) * (scale * columns[column])
