"""v · tanh(q + k) for every pair of a query and a key, in as little memory as its gradient allows."""

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
    again: bool | None = None,
) -> Float[Tensor, "... Q K"]:
    """The scores of additive attention, given what the maps made of queries and keys.

    `energy` is one vector v, or one for each head (axis -3 of queries and keys). `again` says whether tanh is computed
    once more for the gradient instead of being kept, the largest tensor of a model that has one for every step of a
    decoder; unless it is said, a GPU does, for which it takes no time to speak of. On a CPU, if nobody asks for
    gradients, there is a loop of our own, which keeps nothing.
    """
    energies = pick("additive_scores", query, key, energy)
    if energies is not None:
        return _looped(energies, query, key, energy)
    again = has_scarce_memory(query.device) if again is None else again
    scores: Tensor = _TanhEnergy.apply(query, key, energy.to(query.dtype), again)  # type: ignore[no-untyped-call]
    return scores


def _looped(
    energies: Callable[..., Tensor],
    query: Float[Tensor, "... Q D"],
    key: Float[Tensor, "... K D"],
    energy: Float[Tensor, " D"],
) -> Float[Tensor, "... Q K"]:
    """What the kernel for rows of queries and keys in float32 makes of any."""
    # Not torch.broadcast_shapes, which imports half a second of symbolic algebra.
    leading = np.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    rows = [each.expand(*leading, -1, -1).reshape(prod(leading), *each.shape[-2:]).float() for each in (query, key)]
    scores = energies(rows[0], rows[1], energy.float())
    return scores.view(*leading, *scores.shape[1:]).to(query.dtype)


def _hidden(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K D"]:
    return (query.unsqueeze(-2) + key.unsqueeze(-3)).tanh_()


class _TanhEnergy(torch.autograd.Function):
    """What autograd would do, with one temporary "... Q K D" less in each direction: tanh overwrites the sum, and v is
    multiplied in after the sums over keys and queries, where nothing is as large."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, energy: Tensor, again: bool) -> Tensor:
        hidden = _hidden(query, key)
        ctx.save_for_backward(energy, *((query, key) if again else (hidden,)))
        ctx.shapes = query.shape, key.shape
        return hidden @ energy if energy.ndim == 1 else (hidden @ energy[:, None, :, None]).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (gradient,), (energy, *kept) = gradients, ctx.saved_tensors
        hidden = kept[0] if len(kept) == 1 else _hidden(*kept)
        query_shape, key_shape = ctx.shapes
        row = energy if energy.ndim == 1 else energy.unsqueeze(-2)
        inner = torch.ops.aten.tanh_backward(gradient.unsqueeze(-1).expand_as(hidden), hidden)
        of_query = (inner.sum(-2) * row).sum_to_size(query_shape)
        # One query, as in each step of a recurrent decoder: there is nothing to sum.
        of_key = (inner.squeeze(-3) if inner.shape[-3] == 1 else inner.sum(-3)).mul_(row).sum_to_size(key_shape)
        if energy.ndim == 1:
            return of_query, of_key, gradient.flatten() @ hidden.flatten(0, -2), None
        of_energy = (gradient.unsqueeze(-2) @ hidden).squeeze(-2).sum(-2).sum_to_size(energy.shape)
        return of_query, of_key, of_energy, None
