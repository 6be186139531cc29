"""Which device to compute on."""

import torch

from regard.errors import UsageError


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is CUDA, then Apple's MPS, then the CPU."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, there in available.items() if there))
    if not available.get(name.split(":")[0], False):
        there = ", ".join(kind for kind, is_there in available.items() if is_there)
        raise UsageError(f"device {name!r} is not available here; available: {there}")
    return torch.device(name)
