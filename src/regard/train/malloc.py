"""Settings of malloc for training on a CPU.

The C library of Linux returns large blocks to the system when they are freed. The next step allocates them again, and
the system zeroes each page on first access, which takes a good part of the time of a small model's step. So a process
that trains keeps freed memory, as torch's caching allocator does on a GPU.
"""

import ctypes
import sys

MALLOPT = {-3: 2**25, -1: 2**31 - 1, -2: 2**28}
"""Parameters of `mallopt`, by their numbers in malloc.h, and the largest valid or sensible values: blocks larger than
M_MMAP_THRESHOLD are returned to the system; so are more than M_TRIM_THRESHOLD free bytes at the end of the heap; and
the heap grows by M_TOP_PAD more than necessary."""


def keep_freed_memory() -> bool:
    """Tells the C library to keep freed memory; returns whether that is supported."""
    if sys.platform != "linux":
        return False
    ask = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only
    return ask is not None and all(ask(name, value) == 1 for name, value in MALLOPT.items())
