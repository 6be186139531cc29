"""A text as a file of word numbers."""

from pathlib import Path

import numpy as np
from jaxtyping import Int32

LINE_END = -1
"""Separates lines in a stream; windows do not cross it."""

PIECE = 1 << 22
"""Words of a stream processed at a time."""


def mapped(path: Path) -> Int32[np.ndarray, " N"]:
    """The numbers of a file, memory-mapped."""
    # An empty file cannot be mapped; slicing is faster on a plain array than on a memmap.
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.int32)
    return np.asarray(np.memmap(path, dtype=np.int32, mode="r")).view(np.ndarray)
