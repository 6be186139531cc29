"""v · tanh(q + k) for every pair of a query and a key, with a memory-saving gradient."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.device import has_scarce_memory
from regard.kernels import pick


def tanh_energy(
    query: Float[Tensor, "... Q D"],
    key: Float[Tensor, "... K D"],
    energy: Float[Tensor, "*heads D"],
    *,
    recompute: bool | None = None,
) -> Float[Tensor, "... Q K"]:
    """The scores of additive attention, given mapped queries and keys.

    `energy` is one vector v, or one for each head (axis -3 of queries and keys). With `recompute`, the default on a
    GPU, where it costs next to nothing, backward computes tanh again instead of saving it: it is the largest tensor of
    a recurrent decoder, one for each step. On a CPU without gradients a kernel avoids that tensor altogether.
    """
    energies = pick("additive_scores", query, key, energy)
    if energies is not None:
        return _by_kernel(energies, query, key, energy)
    recompute = has_scarce_memory(query.device) if recompute is None else recompute
    scores: Tensor = _TanhEnergy.apply(query, key, energy.to(query.dtype), recompute)  # type: ignore[no-untyped-call]
    return scores


def _by_kernel(
    energies: Callable[..., Tensor],
    query: Float[Tensor, "... Q D"],
    key: Float[Tensor, "... K D"],
    energy: Float[Tensor, " D"],
) -> Float[Tensor, "... Q K"]:
    """Applies a kernel for 3-dimensional float32 tensors to tensors of any leading shape and dtype."""
    # Not torch.broadcast_shapes, which imports half a second of symbolic algebra.
    leading = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    rows = [each.expand(*leading, -1, -1).reshape(prod(leading), *each.shape[-2:]).float() for each in (query, key)]
    scores = energies(rows[0], rows[1], energy.float())
    return scores.view(*leading, *scores.shape[1:]).to(query.dtype)


def _hidden(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K D"]:
    return (query.unsqueeze(-2) + key.unsqueeze(-3)).tanh_()


class _TanhEnergy(torch.autograd.Function):
    """The same as autograd, with one temporary "... Q K D" less in each direction: tanh is computed in place, and v is
    multiplied in after the sums over keys and queries."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, energy: Tensor, recompute: bool) -> Tensor:
        hidden = _hidden(query, key)
        ctx.save_for_backward(energy, *((query, key) if recompute else (hidden,)))
        ctx.shapes = query.shape, key.shape
        return hidden @ energy if energy.ndim == 1 else (hidden @ energy[:, None, :, None]).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (gradient,), (energy, *saved) = gradients, ctx.saved_tensors
        hidden = saved[0] if len(saved) == 1 else _hidden(*saved)
        query_shape, key_shape = ctx.shapes
        row = energy if energy.ndim == 1 else energy.unsqueeze(-2)
        inner = torch.ops.aten.tanh_backward(gradient.unsqueeze(-1).expand_as(hidden), hidden)
        of_query = (inner.sum(-2) * row).sum_to_size(query_shape)
        # With one query, as in each step of a recurrent decoder, there is nothing to sum.
        of_key = (inner.squeeze(-3) if inner.shape[-3] == 1 else inner.sum(-3)).mul_(row).sum_to_size(key_shape)
        if energy.ndim == 1:
            return of_query, of_key, gradient.flatten() @ hidden.flatten(0, -2), None
        of_energy = (gradient.unsqueeze(-2) @ hidden).squeeze(-2).sum(-2).sum_to_size(energy.shape)
        return of_query, of_key, of_energy, None
