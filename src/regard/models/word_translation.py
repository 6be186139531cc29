"""Links by a table of word translations (IBM Model 1, Brown et al. 1993), estimated from the text itself."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

ROUNDS = 5

Rows = Sequence[Sequence[str]]


def translation_weights(sources: Rows, targets: Rows) -> list[np.ndarray]:
    """For each pair, how likely each target word (row) is a translation of each source word (column), or in the last
    column of none; rows sum to one."""
    read, written = _numbered(sources, 1), _numbered(targets, 0)
    # The source word 0 stands for none; every pair has it.
    with_none = [np.append(row, 0) for row in read]
    vocabulary = 1 + max((int(row.max()) for row in written if len(row)), default=0)
    cells = [np.add.outer(row, column * vocabulary).ravel() for row, column in zip(written, with_none, strict=True)]
    shapes = [(len(row), len(column)) for row, column in zip(written, with_none, strict=True)]
    every = np.concatenate(cells) if cells else np.zeros(0, np.int64)
    keys, places = np.unique(every, return_inverse=True)
    token = np.repeat(np.arange(sum(rows for rows, _ in shapes)), [c for rows, c in shapes for _ in range(rows)])
    weights = np.ones(len(every))
    for _ in range(ROUNDS):
        counts = np.bincount(places, weights, len(keys))
        of_source = np.bincount(keys // vocabulary, counts)
        table = counts / np.maximum(of_source[keys // vocabulary], 1e-30)
        weights = table[places]
        weights /= np.maximum(np.bincount(token, weights)[token], 1e-30)
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    return [each.reshape(shape) for each, shape in zip(np.split(weights, ends), shapes, strict=True)] if shapes else []


def _numbered(rows: Rows, first: int) -> list[Int[np.ndarray, " words"]]:
    numbers: dict[str, int] = {}
    return [np.array([numbers.setdefault(word, first + len(numbers)) for word in row], dtype=np.int64) for row in rows]
