"""Which pairs share a row: first fit, longest first (Johnson 1973), a batch at a time."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from regard.data.packing import PackedRows

WIDTH = 128
"""Tokens of a row; rows for longer sequences are twice as wide, and so on."""

Indices = npt.NDArray[np.int64]


class Packing:
    """Plans batches of packed rows: at most `batch_tokens` tokens on each side, padding and END counted.

    A pair that is longer than that by itself is never lost: it is a batch of its own.
    """

    def __init__(self, batch_tokens: int) -> None:
        self.batch_tokens = batch_tokens

    def plan(self, sources: Sequence[int], targets: Sequence[int]) -> list[PackedRows]:
        """Which pairs go together, given their lengths without END, in an order that must be random already."""
        lengths = np.stack([np.asarray(sources, dtype=np.int64), np.asarray(targets, dtype=np.int64)], axis=1) + 1
        longer = lengths.max(axis=1)
        too_long = np.flatnonzero(longer > self.batch_tokens).tolist()
        plan = [PackedRows([[one]], (1, int(longer[one]))) for one in too_long]
        waiting = np.flatnonzero(longer <= self.batch_tokens)
        widths = self._widths(int(longer[waiting].max(initial=1)))
        # Those that need wide rows first; shorter ones fill these rows up.
        for width, narrower in zip(reversed(widths), [*reversed(widths[:-1]), 0], strict=True):
            while (needing := longer[waiting] > narrower).any():
                shape = self.batch_tokens // width, width
                rows, waiting = _filled(np.concatenate([waiting[needing], waiting[~needing]]), lengths, shape)
                plan.append(PackedRows(rows, shape))
        return plan

    def _widths(self, longest: int) -> list[int]:
        widths = [min(WIDTH, self.batch_tokens)]
        while widths[-1] < longest:
            widths.append(min(2 * widths[-1], self.batch_tokens))
        return widths


def _filled(waiting: Indices, lengths: Indices, shape: tuple[int, int]) -> tuple[list[list[int]], Indices]:
    """The rows of a batch, and who still waits. As many as there may be room for are put, longest first, into the first
    row that has room for them."""
    count, width = shape
    head = waiting[: count * width]
    fitting = max(1, int(np.searchsorted(lengths[head].cumsum(axis=0).max(axis=1), count * width, side="right")))
    chosen = head[:fitting]
    chosen = chosen[np.argsort(-lengths[chosen].max(axis=1), kind="stable")]
    found = first_fit(lengths[chosen], count, width)
    rows: list[list[int]] = [[] for _ in range(count)]
    for one, row in zip(chosen.tolist(), found.tolist(), strict=True):
        if row >= 0:
            rows[row].append(one)
    return [row for row in rows if row], np.concatenate([chosen[found < 0], waiting[fitting:]])


@njit(nogil=True, cache=True)
def first_fit(lengths: Indices, count: int, width: int) -> Indices:
    """The first of `count` rows with room for both sides of each pair, in the order given; −1, if there is none."""
    room = np.full((count, 2), width)
    found = np.full(len(lengths), -1)
    for one in range(len(lengths)):
        for row in range(count):
            if room[row, 0] >= lengths[one, 0] and room[row, 1] >= lengths[one, 1]:
                room[row, 0] -= lengths[one, 0]
                room[row, 1] -= lengths[one, 1]
                found[one] = row
                break
    return found
