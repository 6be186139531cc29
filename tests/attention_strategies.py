"""What the tests of attention draw and compare with: small tensors in float64, and the definition as loops."""

import math
from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch import Tensor

sizes = st.integers(1, 5)
seeds = st.integers(0, 2**16)


def normal(*shape: int, seed: int = 0, grad: bool = False) -> Tensor:
    """Normal numbers in float64, the same for the same seed."""
    numbers = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return numbers.requires_grad_(grad)


def coins(*shape: int, seed: int = 0, share: float = 0.6) -> Tensor:
    """Booleans, `share` of them True."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < share


def loop_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score: Callable[[Tensor, Tensor], float | Tensor],
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """softmax attention of "Q D", "K D" and "K Dv" written out from its equations, number by number."""
    contexts, weights = [], []
    for i, q in enumerate(query):
        scores = [float(score(q, k)) + (0.0 if bias is None else float(bias[i, j])) for j, k in enumerate(key)]
        seen = [j for j in range(len(key)) if mask is None or bool(mask[i, j])]
        total = sum(math.exp(scores[j]) for j in seen)
        row = [math.exp(scores[j]) / total if j in seen else 0.0 for j in range(len(key))]
        context = torch.zeros(value.shape[-1], dtype=value.dtype)
        for weight, v in zip(row, value, strict=True):
            context = context + weight * v
        contexts.append(context)
        weights.append(torch.tensor(row, dtype=value.dtype))
    return torch.stack(contexts), torch.stack(weights)
