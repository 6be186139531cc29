"""Writes tokens into the rows of a batch: compiled loops that release the GIL.

A row has one or several consecutive sequences: `chosen` lists them row by row, and `ends` is where those of each row
end in that list. Each value that a batch has per token is one of several tables, "B K T" together.
"""

import numpy as np
import numpy.typing as npt

from regard.loops import njit

Indices = npt.NDArray[np.int64]

NOTHING = -1
"""Means "no token" before or after each sequence."""


@njit(nogil=True, cache=True)
def put(
    values: npt.NDArray[np.int32],
    bounds: Indices,
    chosen: Indices,
    ends: Indices,
    before: int,
    after: int,
    tables: Indices,
    table: int,
    lengths: Indices,
) -> None:
    """Writes sequences of tokens (rows of `values`), each between the tokens `before` and `after`, and the length of
    each row."""
    one = 0
    for row in range(len(ends)):
        place = 0
        while one < ends[row]:
            if before != NOTHING:
                tables[row, table, place] = before
                place += 1
            for token in range(bounds[chosen[one]], bounds[chosen[one] + 1]):
                tables[row, table, place] = values[token]
                place += 1
            if after != NOTHING:
                tables[row, table, place] = after
                place += 1
            one += 1
        lengths[row, table] = place


@njit(nogil=True, cache=True)
def number(bounds: Indices, chosen: Indices, ends: Indices, padding: int, tables: Indices, table: int) -> None:
    """For each token, writes the index of its sequence within the row (`padding` for padding) and, in the next table,
    its position in that sequence. Every sequence has one token more than its row of values."""
    one = 0
    for row in range(len(ends)):
        place, begun = 0, one
        while one < ends[row]:
            for inside in range(bounds[chosen[one] + 1] - bounds[chosen[one]] + 1):
                tables[row, table, place] = one - begun
                tables[row, table + 1, place] = inside
                place += 1
            one += 1
        for rest in range(place, tables.shape[2]):
            tables[row, table, rest] = padding
            tables[row, table + 1, rest] = 0
