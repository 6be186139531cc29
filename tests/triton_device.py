"""Where kernels written in Triton are tested: on a CUDA device, or, where there is none, on the CPU, where Triton's
interpreter does what they say, one program after another. It is slow: fewer cases suffice there."""

import os
from typing import TypeVar

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""`conftest.py` decides, since Triton must know it when it is first imported."""
DEVICE = torch.device("cpu" if INTERPRETED else "cuda")

needs_triton = [
    # NaN and infinity are warned of by the interpreter, whose numbers are NumPy's.
    pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning"),
    *([] if INTERPRETED else [pytest.mark.gpu]),
    pytest.mark.skipif(not INTERPRETED and not torch.cuda.is_available(), reason="needs a CUDA device"),
]

Cases = TypeVar("Cases")


def fewer(few: Cases, all_of_them: Cases) -> Cases:
    """Some cases for the interpreter, and all of them for a device."""
    return few if INTERPRETED else all_of_them
