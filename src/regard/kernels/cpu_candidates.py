"""Log-probabilities and candidates of a search on CPUs: loops over the vocabulary, compiled by numba."""

from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int64
from numba import float32, int64, njit
from torch import Tensor

from regard.kernels.cpu_attention import SUMS, exponential

LANES = 128
"""Running maxima kept in parallel (lane i covers elements i, i + LANES, …), so that the loop vectorizes."""

Rows = Float32[np.ndarray, "N V"]


def log_softmax_(logits: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows V"]:
    """log_softmax of each row, in place; a row stays in the processor's cache from first to last pass."""
    _log_softmax_(logits.view(-1, logits.shape[-1]).numpy())
    return logits


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _log_softmax_(rows: Rows) -> None:
    lanes = np.empty(LANES, dtype=np.float32)
    for number in range(len(rows)):
        row = rows[number]
        top = _maxima(row, lanes)
        total = float32(0)
        for place in range(len(row)):
            total += exponential(row[place] - top)
        level = top + float32(np.log(total))
        for place in range(len(row)):
            row[place] -= level


def likeliest_(
    logits: Float[Tensor, "*rows V"], count: int, forbidden: tuple[int, ...]
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The highest log-probabilities of each row and their tokens, without forbidden ones: like `highest` after
    `log_softmax_`, but without writing all log-probabilities. Overwrites the logits."""
    best, places = _outputs(logits, count)
    rows = logits.view(-1, logits.shape[-1]).numpy(), best.view(-1, count).numpy(), places.view(-1, count).numpy()
    _likeliest_(*rows, np.array(forbidden, dtype=np.int64))
    return best, places


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _likeliest_(
    rows: Rows,
    best: Float32[np.ndarray, "N count"],
    places: Int64[np.ndarray, "N count"],
    forbidden: Int64[np.ndarray, " F"],
) -> None:
    lanes, held = np.empty(LANES, dtype=np.float32), np.empty(len(forbidden), dtype=np.float32)
    for number in range(len(rows)):
        row, found = rows[number], best[number]
        for rank in range(len(forbidden)):
            held[rank], row[forbidden[rank]] = row[forbidden[rank]], -np.inf
        top = _maxima(row, lanes)
        for rank in range(len(forbidden)):
            top = max(top, held[rank])
        # Forbidden tokens count in the normalization.
        total = float32(0)
        for rank in range(len(forbidden)):
            total += exponential(held[rank] - top)
        for place in range(len(row)):
            total += exponential(row[place] - top)
        level = top + float32(np.log(total))
        _rank_all(row, lanes, found, places[number])
        for rank in range(len(found)):
            found[rank] -= level


def highest(
    numbers: Float[Tensor, "*rows V"], count: int
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The highest numbers of each row and their indices, like `topk`, except that an index of -inf may occur twice.

    `topk` sorts; here most numbers are only compared with the maximum of their lane.
    """
    best, places = _outputs(numbers, count)
    _highest(numbers.view(-1, numbers.shape[-1]).numpy(), best.view(-1, count).numpy(), places.view(-1, count).numpy())
    return best, places


@njit(nogil=True, cache=True)
@no_type_check
def _highest(rows: Rows, best: Float32[np.ndarray, "N count"], places: Int64[np.ndarray, "N count"]) -> None:
    lanes = np.empty(LANES, dtype=np.float32)
    for number in range(len(rows)):
        row, found = rows[number], best[number]
        _maxima(row, lanes)
        _rank_all(row, lanes, found, places[number])
        for rank in range(len(found)):
            if found[rank] == np.inf:
                found[rank] = np.nan


def _outputs(numbers: Float[Tensor, "*rows V"], count: int) -> tuple[Tensor, Tensor]:
    best = numbers.new_empty(*numbers.shape[:-1], count)
    return best, torch.empty_like(best, dtype=torch.long)


@njit(nogil=True, cache=True)
@no_type_check
def _rank_all(
    row: Float32[np.ndarray, " V"],
    lanes: Float32[np.ndarray, " lanes"],
    found: Float32[np.ndarray, " count"],
    at: Int64[np.ndarray, " count"],
) -> None:
    """Finds the highest numbers of a row, given the maxima of its lanes."""
    found[:] = -np.inf
    # A number below the `count` highest lane maxima is not among the highest.
    for lane in range(LANES):
        _rank(lanes[lane], 0, found, at)
    least = found[-1]
    for rank in range(len(found)):
        found[rank], at[rank] = -np.inf, rank
    whole = len(row) // LANES * LANES
    for lane in range(LANES):
        if lanes[lane] >= least:
            for place in range(lane, whole, LANES):
                _rank(row[place], place, found, at)
    for place in range(whole, len(row)):
        _rank(row[place], place, found, at)


@njit(nogil=True, cache=True)
@no_type_check
def _is_before(number: Any, place: int, other: Any, other_place: int) -> Any:
    """Descending order; of equal numbers the first comes first."""
    return number > other or (number == other and place < other_place)


@njit(nogil=True, cache=True)
@no_type_check
def _rank(number: Any, place: int, found: Any, at: Any) -> None:
    """Inserts a number into the sorted list of the highest, if it is among them."""
    # NaN counts as the highest, as in `topk`.
    number = number if number == number else float32(np.inf)
    rank = len(found) - 1
    if _is_before(number, place, found[rank], at[rank]):
        while rank > 0 and _is_before(number, place, found[rank - 1], at[rank - 1]):
            found[rank], at[rank] = found[rank - 1], at[rank - 1]
            rank -= 1
        found[rank], at[rank] = number, place


@njit(nogil=True, cache=True)
@no_type_check
def _maxima(row: Float32[np.ndarray, " V"], lanes: Float32[np.ndarray, " lanes"]) -> Any:
    """The maximum of a row, and those of its lanes without the incomplete rest at the end. NaN counts as +inf."""
    for lane in range(LANES):
        lanes[lane] = -np.inf
    whole = int64(len(row) // LANES * LANES)
    for begin in range(0, whole, LANES):
        part = row[begin : begin + LANES]
        for lane in range(LANES):
            number = part[lane] if part[lane] == part[lane] else float32(np.inf)
            lanes[lane] = max(lanes[lane], number)
    top = float32(-np.inf)
    for lane in range(LANES):
        top = max(top, lanes[lane])
    for place in range(whole, len(row)):
        top = max(top, row[place])
    return top
