"""A text as a stream of numbers in a file."""

from pathlib import Path

import numpy as np
from jaxtyping import Int32

LINE_END = -1
"""Between lines in a stream: no word is the company of a word on another line."""

PIECE = 1 << 22
"""Words of a stream that are looked at together."""


def mapped(path: Path) -> Int32[np.ndarray, " N"]:
    """The numbers in a file, read as they are asked for."""
    # An empty file cannot be mapped; a memory map seen as a plain array is faster to cut pieces from.
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.int32)
    return np.asarray(np.memmap(path, dtype=np.int32, mode="r")).view(np.ndarray)
