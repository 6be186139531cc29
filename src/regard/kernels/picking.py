"""Which kernel serves an operation: one dictionary, and one function that looks into it.

    kernel = pick("few_queries", query, key, value)
    if kernel is not None:
        return kernel(query, key, value, bias, scale)

Whoever picks also has a plain way in torch, which says what is computed. Kernels know no gradients and are not traced.
Their modules are imported when they are first picked: compilers take seconds to load.
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
"""Most queries of a row that are few; widths of heads that the CUDA kernel knows."""
SIZE, COUNT = 65536, 17
"""Most tokens of a vocabulary, and most of the likeliest among them, that the CUDA kernels of a search know."""


@dataclass(frozen=True)
class Kernel:
    """A function of a module in this room, and what it can be given."""

    name: str
    """`module.function`."""
    suits: Callable[..., bool]
    """Whether it can be given these tensors, which lie on its device; and numbers, by name."""
    benchmark: str
    """The measurement that justifies it: a file in `benchmarks/results`, and the system whose figures it makes."""
    is_triton: bool = True
    """Of a kernel for CUDA: whether it is written in Triton; else torch has it."""

    def load(self) -> Callable[..., Any]:
        module, _, function = self.name.partition(".")
        if module.startswith("cpu"):
            import_numba()
        found: Callable[..., Any] = getattr(import_module(f"regard.kernels.{module}"), function)
        return found


_PLAIN = ContextVar("plain", default=False)


@contextmanager
def plain_ways(wanted: bool) -> Iterator[None]:
    """Where it is wanted, no kernel for CPUs is picked while the block runs: for work that takes less time than loading
    their compiler does."""
    before = _PLAIN.set(wanted)
    try:
        yield
    finally:
        _PLAIN.reset(before)


def pick(operation: str, *tensors: Tensor, **numbers: int) -> Callable[..., Any] | None:
    """The kernel for an operation on these tensors; None if there is none here, or none that knows such tensors."""
    # First of all, so that compilers see nothing of the rest.
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return None
    kernel = KERNELS[operation].get(tensors[0].device.type)
    if kernel is not None and _PLAIN.get() and tensors[0].device.type == "cpu":
        return None
    if kernel is None or not kernel.suits(*tensors, **numbers) or not _can_read(kernel, *tensors):
        return None
    return kernel.load()


def _can_read(kernel: Kernel, *tensors: Tensor) -> bool:
    """Whether a kernel can read the memory of tensors."""
    if tensors[0].is_cuda:
        return has_kernels(tensors[0]) if kernel.is_triton else True
    return has_loops(*tensors)


def _few_queries(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether memory can be taken as it lies: what torch would broadcast or refuse is left to it."""
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
    known = query.dtype in (torch.float32, torch.bfloat16) and _few_queries(query, key, value)
    return known and query.shape[-1] in WIDTHS and value.shape[-1] in WIDTHS


def _one_position(keys: Tensor, values: Tensor) -> bool:
    return keys.shape[2] == 1 and keys.stride(-1) == values.stride(-1) == 1


def _additive(query: Tensor, key: Tensor, energy: Tensor) -> bool:
    """Widths that differ, which torch broadcasts or refuses, are left to it, as are vectors that stand alone."""
    known = query.dtype == key.dtype and query.dtype in (torch.float32, torch.bfloat16) and energy.is_floating_point()
    several = query.ndim > 1 and key.ndim > 1 and energy.ndim == 1
    return known and several and query.shape[-1] == key.shape[-1] == len(energy)


def _rows(logits: Tensor, count: int = 1) -> bool:
    return logits.dtype == torch.float32 and logits.is_contiguous()


def _is_small(logits: Tensor, count: int) -> bool:
    return logits.shape[-1] <= SIZE and count <= COUNT


def _not_autocast(*tensors: Tensor) -> bool:
    """Autocast does not do to torch's own kernel, which is no public function, what it does to linear maps."""
    return not torch.is_autocast_enabled("cuda") and hasattr(torch, "_addmm_activation")


def _any(*tensors: Tensor) -> bool:
    return True


KERNELS: dict[str, dict[str, Kernel]] = {
    # Softmax attention of a few queries: a step of decoding.
    "few_queries": {
        "cpu": Kernel("cpu_attention.few_queries", _few_queries_on_cpu, "decode_cpu_trained.json: own"),
        "cuda": Kernel("cuda_attention.few_queries", _few_queries_on_cuda, "decode_gpu.json: own, float32"),
    },
    # v · tanh(q + k), the scores of additive attention.
    "additive_scores": {"cpu": Kernel("cpu_additive.energies", _additive, "decode_joeynmt.json: own, recurrent")},
    # One more position into a cache that hypotheses share; who wrote what they read; what it hides.
    "write_position": {"cuda": Kernel("cuda_attention.write", _one_position, "decode_gpu.json: own, float32")},
    "branch_lineage": {"cuda": Kernel("cuda_attention.branch_", _any, "decode_gpu.json: own, float32")},
    "lineage_bias": {"cuda": Kernel("cuda_attention.lineage_bias", _any, "decode_gpu.json: own, float32")},
    # A linear map and ReLU.
    "linear_relu": {
        "cuda": Kernel("cuda_linear.linear_relu", _not_autocast, "decode_gpu.json: own, float32", is_triton=False)
    },
    # A linear map of features most of which are zero; the kernel gives up where too many are not.
    "sparse_linear": {"cpu": Kernel("cpu_sparse.times_few", _any, "decode_cpu_trained.json: own")},
    # Candidates of a search: the highest numbers of rows, those of their log-probabilities, and these themselves.
    "highest": {
        "cpu": Kernel("cpu_candidates.highest", _rows, "decode_cpu_trained.json: own"),
        "cuda": Kernel("cuda_beam.highest", _is_small, "decode_gpu.json: own, float32"),
    },
    "likeliest_": {"cpu": Kernel("cpu_candidates.likeliest_", _rows, "decode_cpu_trained.json: own")},
    "log_softmax_": {"cpu": Kernel("cpu_candidates.log_softmax_", _rows, "decode_cpu_trained.json: own")},
    # All that a step of greedy or beam search does after the model, in two kernels.
    "beam_step": {"cuda": Kernel("cuda_beam.advance_", _is_small, "decode_gpu.json: own, float32")},
}
"""By operation and device. `cpu_int8` has no entry: there is no other way to compute in whole numbers of eight bits
(`decode_cpu_trained.json: own, int8`)."""
