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


def is_asynchronous(device: torch.device) -> bool:
    """Whether the host goes on while the device works, and must wait for it to read a result."""
    return device.type != "cpu"


def captures(device: torch.device) -> bool:
    """Whether steps can be captured as graphs there."""
    return device.type == "cuda"


def has_scarce_memory(device: torch.device) -> bool:
    """Whether it has memory of its own, of which there is less than time."""
    return device.type == "cuda"


def prefers_bfloat16(device: torch.device) -> bool:
    """Whether products in bfloat16 are faster there, whatever its model."""
    return device.type == "cuda"


def lacks_compiler(device: torch.device) -> bool:
    """Whether torch.compile would have to do without Triton, which it needs there."""
    return device.type == "cuda" and find_spec("triton") is None


def in_transit(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the host in pinned memory, from where CUDA fetches it while the host goes on."""
    return tensor.pin_memory() if device.type == "cuda" and tensor.device.type == "cpu" else tensor


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor on the device, without waiting for it where that is safe."""
    return in_transit(tensor, device).to(device, non_blocking=device.type == "cuda")


def synchronize(device: torch.device) -> None:
    """Waits until a CUDA device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release_memory(device: torch.device) -> None:
    """Gives memory of a CUDA device that no tensor has back to it."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def autocast_dtype(tensor: torch.Tensor) -> torch.dtype | None:
    """The number format in which autocast multiplies on a tensor's device; None where it is off."""
    kind = tensor.device.type
    # Some devices, such as torch's `meta`, know nothing of it and would refuse the question.
    active = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if active else None


def without_autocast(tensor: torch.Tensor) -> AbstractContextManager[None]:
    """Number formats as they are on a tensor's device while the block runs."""
    return torch.autocast(tensor.device.type, enabled=False)


def fast_multiple(x: torch.Tensor) -> int:
    """What widths should be multiples of where something is computed from a tensor, in the format that autocast says;
    1 if all are alike."""
    if not x.is_cuda:
        return 1
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
    return MULTIPLE if dtype.itemsize == 2 else 1
