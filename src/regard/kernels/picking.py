"""Which kernel serves an operation: one dictionary, and one function that looks it up.

    kernel = pick("few_queries", query, key, value)
    if kernel is not None:
        return kernel(query, key, value, bias, scale)

Every caller has a fallback in plain torch, which defines the result. Kernels support neither gradients nor tracing.
Their modules are imported on first use, because the compilers take seconds to load.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from regard.device import has_kernels, has_loops
from regard.loops import import_numba

QUERIES, WIDTHS = 16, (16, 32, 64, 128, 256)
"""Maximum number of queries per row; head widths that the CUDA kernel supports."""
SIZE, COUNT = 65536, 17
"""Maximum size of a vocabulary, and maximum number of candidates, of the CUDA kernels of a search."""


@dataclass(frozen=True)
class Kernel:
    """A function of a module in this package, and the inputs it supports."""

    name: str
    """`module.function`."""
    suits: Callable[..., bool]
    """Whether it supports these tensors, which are on its device, and these numbers."""
    benchmark: str
    """The measurement that justifies it: a file in `benchmarks/results`, and the row in it."""
    is_triton: bool = True
    """False for a CUDA kernel that comes with torch."""

    def load(self) -> Callable[..., Any]:
        module, _, function = self.name.partition(".")
        if module.startswith("cpu"):
            import_numba()
        found: Callable[..., Any] = getattr(import_module(f"regard.kernels.{module}"), function)
        return found


_PLAIN = ContextVar("plain", default=False)


@contextmanager
def plain_ways(wanted: bool) -> Iterator[None]:
    """Picks no kernel for CPUs while the block runs, if `wanted`: for work that takes less time than loading their
    compiler."""
    before = _PLAIN.set(wanted)
    try:
        yield
    finally:
        _PLAIN.reset(before)


def pick(operation: str, *tensors: Tensor, **numbers: int) -> Callable[..., Any] | None:
    """The kernel for an operation on these tensors; None if no kernel supports them."""
    # First, so that torch.compile does not trace the rest.
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return None
    device = tensors[0].device.type
    kernel = None if _PLAIN.get() and device == "cpu" else KERNELS[operation].get(device)
    if kernel is None or not kernel.suits(*tensors, **numbers) or not _can_read(kernel, *tensors):
        return None
    return kernel.load()


def _can_read(kernel: Kernel, *tensors: Tensor) -> bool:
    if tensors[0].is_cuda:
        return has_kernels(tensors[0]) if kernel.is_triton else True
    return has_loops(*tensors)


def _few_queries(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether shapes, dtypes and strides need no conversion; broadcasting and errors are left to torch."""
    if not query.ndim == key.ndim == value.ndim == 4 or query.shape[-2] > QUERIES:
        return False
    if not len(query) == len(key) == len(value) or key.shape[1:3] != value.shape[1:3]:
        return False
    if query.shape[1] % key.shape[1] or query.shape[3] != key.shape[3]:
        return False
    if not query.dtype == key.dtype == value.dtype or not query.device == key.device == value.device:
        return False
    return query.stride(-1) == key.stride(-1) == value.stride(-1) == 1


def _few_queries_on_cpu(query: Tensor, key: Tensor, value: Tensor) -> bool:
    return query.dtype == torch.float32 and _few_queries(query, key, value)


def _few_queries_on_cuda(query: Tensor, key: Tensor, value: Tensor) -> bool:
    fits = query.dtype in (torch.float32, torch.bfloat16) and _few_queries(query, key, value)
    return fits and query.shape[-1] in WIDTHS and value.shape[-1] in WIDTHS


def _one_position(keys: Tensor, values: Tensor) -> bool:
    return keys.shape[2] == 1 and keys.stride(-1) == values.stride(-1) == 1


def _additive(query: Tensor, key: Tensor, energy: Tensor) -> bool:
    """Broadcasting, errors and single vectors are left to torch."""
    dtypes = query.dtype == key.dtype and query.dtype in (torch.float32, torch.bfloat16) and energy.is_floating_point()
    axes = query.ndim > 1 and key.ndim > 1 and energy.ndim == 1
    return dtypes and axes and query.shape[-1] == key.shape[-1] == len(energy)


def _rows(logits: Tensor, count: int = 1) -> bool:
    return logits.dtype == torch.float32 and logits.is_contiguous()


def _is_small(logits: Tensor, count: int) -> bool:
    return logits.shape[-1] <= SIZE and count <= COUNT


def _not_autocast(*tensors: Tensor) -> bool:
    """Autocast does not apply to torch's kernel, which is a private function, as it does to `F.linear`."""
    return not torch.is_autocast_enabled("cuda") and hasattr(torch, "_addmm_activation")


def _any(*tensors: Tensor) -> bool:
    return True


KERNELS: dict[str, dict[str, Kernel]] = {
    # Softmax attention of few queries: a step of decoding.
    "few_queries": {
        "cpu": Kernel("cpu_attention.few_queries", _few_queries_on_cpu, "decode_cpu_trained.json: own"),
        "cuda": Kernel("cuda_attention.few_queries", _few_queries_on_cuda, "decode_gpu.json: own, float32"),
    },
    # v · tanh(q + k), the scores of additive attention.
    "additive_scores": {"cpu": Kernel("cpu_additive.energies", _additive, "decode_joeynmt.json: own, recurrent")},
    # Writes one position to a key-value cache; `Lineage.branch` and `Lineage.bias`.
    "write_position": {"cuda": Kernel("cuda_attention.write", _one_position, "decode_gpu.json: own, float32")},
    "branch_lineage": {"cuda": Kernel("cuda_attention.branch_", _any, "decode_gpu.json: own, float32")},
    "lineage_bias": {"cuda": Kernel("cuda_attention.lineage_bias", _any, "decode_gpu.json: own, float32")},
    # A linear layer with ReLU.
    "linear_relu": {
        "cuda": Kernel("cuda_linear.linear_relu", _not_autocast, "decode_gpu.json: own, float32", is_triton=False)
    },
    # Candidates of a search: the highest values of each row, its highest log-probabilities, and all log-probabilities.
    "highest": {
        "cpu": Kernel("cpu_candidates.highest", _rows, "decode_cpu_trained.json: own"),
        "cuda": Kernel("cuda_beam.highest", _is_small, "decode_gpu.json: own, float32"),
    },
    "likeliest_": {"cpu": Kernel("cpu_candidates.likeliest_", _rows, "decode_cpu_trained.json: own")},
    "log_softmax_": {"cpu": Kernel("cpu_candidates.log_softmax_", _rows, "decode_cpu_trained.json: own")},
    # The part of a greedy or beam search step after the model, as two kernels.
    "beam_step": {"cuda": Kernel("cuda_beam.advance_", _is_small, "decode_gpu.json: own, float32")},
}
"""By operation and device. `cpu_int8` has no entry, because it has no fallback (`decode_cpu_trained.json: own,
int8`)."""
