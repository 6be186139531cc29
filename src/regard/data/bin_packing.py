"""Bin packing of pairs into rows: first-fit decreasing (Johnson 1973), one batch at a time."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from regard.data.fill_rows import Indices
from regard.data.packing import PackedRows
from regard.loops import njit

WIDTH = 128
"""Minimum width of a row; rows for longer sequences are twice as wide, and so on."""

COMMON = 0.9
"""Share of the tokens in pairs that fit into the narrowest rows, so that batches of wider rows are rare."""


class Packing:
    """Plans batches of packed rows: at most `batch_tokens` tokens on each side, padding and END counted.

    A longer pair is not dropped, but becomes a batch by itself. `usual` are the expected lengths of the longer sides,
    END counted.
    """

    def __init__(self, batch_tokens: int, usual: npt.ArrayLike = (1,)) -> None:
        self.batch_tokens = batch_tokens
        ordered = np.sort(np.asarray(usual, dtype=np.int64))
        tokens = np.cumsum(ordered)
        self._narrowest = self._widths(WIDTH, int(ordered[np.searchsorted(tokens, COMMON * tokens[-1])]))[-1]

    def plan(self, sources: npt.ArrayLike, targets: npt.ArrayLike) -> list[PackedRows]:
        """Packs pairs, given their lengths without END, in an order that must already be random."""
        lengths = np.stack([np.asarray(sources, dtype=np.int64), np.asarray(targets, dtype=np.int64)], axis=1) + 1
        longer = lengths.max(axis=1)
        alone = np.flatnonzero(longer > self.batch_tokens)
        plan = [PackedRows(alone[[at]], np.array([1]), (1, int(longer[one])), True) for at, one in enumerate(alone)]
        waiting = np.flatnonzero(longer <= self.batch_tokens)
        widths = self._widths(self._narrowest, int(longer[waiting].max(initial=1)))
        # Pairs that need wide rows first; shorter ones fill the gaps.
        for width, narrower in zip(reversed(widths), [*reversed(widths[:-1]), 0], strict=True):
            shape, wide = (self.batch_tokens // width, width), width > widths[0]
            pairs, rows, ends, waiting = _packed(waiting, lengths, narrower, *shape)
            parts = [slice(*part) for part in pairwise((0, *ends.tolist()))]
            plan += [PackedRows(pairs[part], np.cumsum(np.bincount(rows[part])), shape, wide) for part in parts]
        return plan

    def _widths(self, narrowest: int, longest: int) -> list[int]:
        widths = [min(narrowest, self.batch_tokens)]
        while widths[-1] < min(longest, self.batch_tokens):
            widths.append(min(2 * widths[-1], self.batch_tokens))
        return widths


@njit(nogil=True, cache=True)
def _packed(
    waiting: Indices, lengths: Indices, narrower: int, count: int, width: int
) -> tuple[Indices, Indices, Indices, Indices]:
    """Fills batches of `count` rows of a width until no waiting pair needs more than `narrower`. Returns the pairs by
    batch and row, the row of each, the end of each batch, and the pairs still waiting."""
    pairs, rows, ends = np.empty_like(waiting), np.empty_like(waiting), np.empty_like(waiting)
    done = batches = 0
    while _needing_first(waiting, lengths, narrower):
        # Puts as many pairs as may fit, longest first, each into the first row with room.
        most = _fitting(waiting, lengths, count * width)
        chosen = waiting[:most]
        _longest_first(chosen, lengths, width)
        found = first_fit(lengths, chosen, count, width)
        for row in range(count):
            for one in range(most):
                if found[one] == row:
                    pairs[done], rows[done] = chosen[one], row
                    done += 1
        ends[batches] = done
        batches += 1
        left = most
        for one in range(most - 1, -1, -1):
            if found[one] < 0:
                left -= 1
                waiting[left] = waiting[one]
        waiting = waiting[left:]
    return pairs[:done], rows[:done], ends[:batches], waiting


@njit(nogil=True, cache=True)
def _needing_first(waiting: Indices, lengths: Indices, narrower: int) -> bool:
    """Moves pairs that need more than a width to the front, keeping their order; returns whether there are any."""
    others, needing = np.empty_like(waiting), 0
    for place in range(len(waiting)):
        one = waiting[place]
        if max(lengths[one, 0], lengths[one, 1]) > narrower:
            waiting[needing] = one
            needing += 1
        else:
            others[place - needing] = one
    for place in range(needing, len(waiting)):
        waiting[place] = others[place - needing]
    return needing > 0


@njit(nogil=True, cache=True)
def _fitting(waiting: Indices, lengths: Indices, room: int) -> int:
    """How many of the first pairs fit on both sides if no room is wasted; at least one."""
    sources = targets = 0
    for place in range(len(waiting)):
        sources += lengths[waiting[place], 0]
        targets += lengths[waiting[place], 1]
        if max(sources, targets) > room:
            return max(place, 1)
    return len(waiting)


@njit(nogil=True, cache=True)
def _longest_first(chosen: Indices, lengths: Indices, width: int) -> None:
    """Stable sort, in place."""
    before, places = chosen.copy(), np.zeros(width + 2, np.int64)
    for one in before:
        places[width - max(lengths[one, 0], lengths[one, 1]) + 1] += 1
    for length in range(width + 1):
        places[length + 1] += places[length]
    for one in before:
        place = width - max(lengths[one, 0], lengths[one, 1])
        chosen[places[place]] = one
        places[place] += 1


@njit(nogil=True, cache=True)
def first_fit(lengths: Indices, chosen: Indices, count: int, width: int) -> Indices:
    """The first of `count` rows with room for both sides of each chosen pair, in order; −1 if no row has room."""
    used, found = np.zeros((count, 2), np.int64), np.empty_like(chosen)
    for place in range(len(chosen)):
        source, target = lengths[chosen[place], 0], lengths[chosen[place], 1]
        found[place] = -1
        for row in range(count):
            if used[row, 0] + source <= width and used[row, 1] + target <= width:
                used[row, 0] += source
                used[row, 1] += target
                found[place] = row
                break
    return found
