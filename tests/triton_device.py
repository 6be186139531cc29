"""Where kernels written in Triton are tested: on a CUDA device, or with TRITON_INTERPRET=1 on a CPU, where Triton then
does what they say."""

import os

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if INTERPRETED else "cuda")

needs_triton = [
    pytest.mark.gpu,
    pytest.mark.skipif(not INTERPRETED and not torch.cuda.is_available(), reason="needs a CUDA device"),
    # What is no number is said so by the interpreter.
    pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning"),
]
