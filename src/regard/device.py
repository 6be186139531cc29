"""Which device to compute on, and what can be done there."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from itertools import chain

import torch

from regard.errors import UsageError

MULTIPLE = 8
"""Half-precision kernels on CUDA devices use tensor cores where widths are multiples of this."""


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is CUDA, then Apple's MPS, then the CPU."""
    cuda = ["cuda", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    available = [
        *(cuda if torch.cuda.is_available() else []),
        *(["mps"] if torch.backends.mps.is_available() else []),
        "cpu",
    ]
    if name != "auto" and name not in available:
        raise UsageError(f"device {name!r} is not available here; available: {', '.join(available)}")
    return torch.device(available[0] if name == "auto" else name)


def device_of(model: torch.nn.Module) -> torch.device:
    """Where a model's weights are; the CPU if it has none."""
    tensor = next(chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if tensor is None else tensor.device


@cache
def has_triton() -> bool:
    """Whether kernels written in Triton can run: on CUDA devices, where the package is there."""
    return torch.cuda.is_available() and find_spec("triton") is not None


def has_kernels(held: torch.Tensor) -> bool:
    """Whether kernels of our own can read a tensor: on CUDA devices, where Triton is, if nobody asks for gradients;
    what is compiled has others. Triton launches on the present device, wherever a tensor lies: see `present`."""
    if not held.is_cuda or torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    return has_triton() and held.get_device() == torch.cuda.current_device()


def has_loops(*held: torch.Tensor) -> bool:
    """Whether loops of our own can read tensors: on CPUs, if nobody asks for gradients, compiles or traces. They read
    memory, which some kinds of tensors only pretend to have."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return False
    return all(type(each) in (torch.Tensor, torch.nn.Parameter) and each.device.type == "cpu" for each in held)


def present(device: torch.device) -> AbstractContextManager[object]:
    """Makes a CUDA device the present one of this thread while the block runs."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def fast_multiple(x: torch.Tensor) -> int:
    """What widths should be multiples of where something is computed from a tensor, in the format that autocast says;
    1 if all are alike."""
    if not x.is_cuda:
        return 1
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
    return MULTIPLE if dtype.itemsize == 2 else 1
