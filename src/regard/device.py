"""Which device to compute on, and what it supports."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from itertools import chain

import torch

from regard.errors import UsageError

MULTIPLE = 8
"""Half-precision kernels on CUDA devices use tensor cores if widths are multiples of this."""


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
    """Whether Triton kernels can run: with a CUDA device and the package installed."""
    return torch.cuda.is_available() and find_spec("triton") is not None


def has_kernels(held: torch.Tensor) -> bool:
    """Whether our Triton kernels apply: a CUDA tensor on the current device (see `on_device`), Triton installed, no
    gradients, not under torch.compile."""
    if not held.is_cuda or torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    return has_triton() and held.get_device() == torch.cuda.current_device()


def has_loops(*held: torch.Tensor) -> bool:
    """Whether our numba loops apply: plain CPU tensors, no gradients, neither compiled nor traced. They read memory
    directly, which some tensor subclasses do not have."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return False
    if torch.jit.is_tracing():  # type: ignore[attr-defined, no-untyped-call]
        return False
    return all(type(each) in (torch.Tensor, torch.nn.Parameter) and each.device.type == "cpu" for each in held)


def on_device(device: torch.device) -> AbstractContextManager[object]:
    """Makes a CUDA device this thread's current one while the block runs: Triton launches kernels there."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def is_host(device: torch.device) -> bool:
    """Whether it is the CPU, where memory is the host's and kernels are oneDNN's, MKL's and ours."""
    return device.type == "cpu"


def is_asynchronous(device: torch.device) -> bool:
    """Whether the host must wait for the device to read a result."""
    return not is_host(device)


def has_cudnn(device: torch.device) -> bool:
    """Whether recurrent kernels are cuDNN's."""
    return device.type == "cuda"


def runs_triton(device: torch.device) -> bool:
    """Whether Triton kernels are for this device, installed or not."""
    return device.type == "cuda"


def has_tf32(device: torch.device) -> bool:
    """Whether matrices can be multiplied in tf32."""
    return device.type == "cuda"


def backend_of(device: torch.device) -> str | None:
    """How several processes communicate that compute on such devices; None if they cannot."""
    return {"cpu": "gloo", "cuda": "nccl"}.get(device.type)


def captures(device: torch.device) -> bool:
    """Whether steps can be captured as graphs."""
    return device.type == "cuda"


def has_scarce_memory(device: torch.device) -> bool:
    """Whether saving memory is worth more than saving time."""
    return device.type == "cuda"


def prefers_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 products are faster on every model of the device."""
    return device.type == "cuda"


def lacks_compiler(device: torch.device) -> bool:
    """Whether Triton, which torch.compile needs there, is not installed."""
    return runs_triton(device) and find_spec("triton") is None


def in_transit(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A host tensor in pinned memory, from which copies to CUDA are asynchronous."""
    return tensor.pin_memory() if device.type == "cuda" and tensor.device.type == "cpu" else tensor


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copies a tensor to the device, asynchronously where that is safe."""
    return in_transit(tensor, device).to(device, non_blocking=device.type == "cuda")


def synchronize(device: torch.device) -> None:
    """Waits for all work on a CUDA device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release_memory(device: torch.device) -> None:
    """Returns cached memory to a CUDA device."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def autocast_dtype(tensor: torch.Tensor) -> torch.dtype | None:
    """Autocast's dtype on a tensor's device; None if it is off."""
    kind = tensor.device.type
    # Some devices, such as `meta`, do not support autocast and would raise.
    active = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if active else None


def without_autocast(tensor: torch.Tensor) -> AbstractContextManager[None]:
    """Disables autocast on a tensor's device while the block runs."""
    return torch.autocast(tensor.device.type, enabled=False)


def fast_multiple(x: torch.Tensor) -> int:
    """The number of which widths in products with a tensor should be multiples, under autocast too; 1 if any will
    do."""
    if not x.is_cuda:
        return 1
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
    return MULTIPLE if dtype.itemsize == 2 else 1
