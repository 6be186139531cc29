"""A small set of batch shapes.

A step is captured as a graph (or compiled) separately for every batch shape. So rows are padded to one of a few
widths, and each width has as many rows as fit into the token budget.
"""

import numpy as np
import numpy.typing as npt

MULTIPLE = 4
"""Widths are multiples of this: kernels prefer that, and fewer lengths make the search fast."""

Lengths = npt.NDArray[np.int64]


class Shapes:
    """At most `count` widths for rows of these lengths, chosen so that there is as little padding as possible.

    Every length fits. Those above all widths (sampled subwords may be longer than the unsampled text) get the next
    multiple, and those above the budget, each a batch by itself, are not padded.
    """

    def __init__(self, lengths: npt.ArrayLike, count: int, batch_tokens: int) -> None:
        self.batch_tokens = batch_tokens
        lengths = np.asarray(lengths, dtype=np.int64)
        self.widths = _least_padding(self._rounded(lengths[lengths <= batch_tokens]), count)

    def widths_of(self, lengths: npt.ArrayLike) -> Lengths:
        """The width of each row; longer rows are never narrower."""
        lengths = np.asarray(lengths, dtype=np.int64)
        rounded = self._rounded(lengths)
        if not len(self.widths):
            return rounded
        places = np.searchsorted(self.widths, lengths)
        fitting = self.widths[np.minimum(places, len(self.widths) - 1)]
        return np.where(places < len(self.widths), fitting, rounded)

    def rows_of(self, width: int) -> int:
        """Rows of a batch of this width within the budget."""
        return max(1, self.batch_tokens // width)

    def _rounded(self, lengths: Lengths) -> Lengths:
        multiples = -(-lengths // MULTIPLE) * MULTIPLE
        return np.minimum(multiples, np.maximum(lengths, self.batch_tokens))


def _least_padding(needed: Lengths, count: int) -> Lengths:
    """At most `count` of the needed widths with the least padding, by dynamic programming: the best choice that covers
    the first j widths has some i < j as its last but one, and a best choice for the first i before it."""
    widths, rows = np.unique(needed, return_counts=True)
    if len(widths) <= count:
        return widths
    total = np.concatenate([[0], np.cumsum(rows)])
    # cost[i, j]: tokens of the rows from width i on up to width j, if all of them are padded to width j.
    cost = np.where(np.tri(len(widths), dtype=bool).T, widths * (total[1:] - total[:-1, None]), np.inf)
    best = cost[0]
    before: list[Lengths] = []
    for _ in range(count - 1):
        sums = best[:-1, None] + cost[1:]
        before.append(np.concatenate([[0], sums.argmin(axis=0)[1:]]))
        best = np.concatenate([best[:1], sums.min(axis=0)[1:]])
    chosen = [len(widths) - 1]
    for last in reversed(before):
        if chosen[-1] == 0:
            break
        chosen.append(int(last[chosen[-1]]))
    return widths[sorted(set(chosen))]
