"""What becomes of memory that a step has freed on a CPU.

The C library of Linux gives large pieces back to the system as soon as they are free. The next step asks for as many,
and the system fills each page of them with zeros when it is first touched, which takes a good part of the time of a
small model's step. So a process that trains keeps them, as torch keeps those of a GPU.
"""

import ctypes
import sys

MALLOPT = {-3: 2**25, -1: 2**31 - 1, -2: 2**28}
"""Parameters of `mallopt`, by their numbers in malloc.h, and the greatest values it takes or that make sense: pieces
larger than M_MMAP_THRESHOLD come from the system and go back to it; more than M_TRIM_THRESHOLD bytes free at the end of
the heap go back; and the heap grows by M_TOP_PAD more than it has to."""


def keep_freed_memory() -> bool:
    """Asks the C library to keep what is freed for what is needed next; whether it can do that."""
    if sys.platform != "linux":
        return False
    ask = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries than GNU's do without
    return ask is not None and all(ask(name, value) == 1 for name, value in MALLOPT.items())
