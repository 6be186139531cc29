"""How scores become weights: along the last axis, non-negative, summing to one.

A normalizer takes scores "... K" and a boolean mask that is broadcast to them (True = may attend, `None` = all may).
Masked entries get exactly zero; a fully masked row gets zeros, with zero gradients.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.errors import UsageError, one_of
from regard.misuse import explained
from regard.recipe import names

Normalizer = Callable[[Tensor, Tensor | None], Tensor]


@explained
def softmax(scores: Float[Tensor, "*rows K"], mask: Bool[Tensor, "..."] | None = None) -> Float[Tensor, "*rows K"]:
    """exp(s) / Σ exp(s): every key gets some weight."""
    return _masked(lambda visible: visible.softmax(-1), scores, mask)


@explained
def sparsemax(scores: Float[Tensor, "*rows K"], mask: Bool[Tensor, "..."] | None = None) -> Float[Tensor, "*rows K"]:
    """The point of the simplex nearest to the scores (Martins and Astudillo 2016): most keys get zero."""
    return _masked(_Sparsemax.apply, scores, mask)


@explained
def entmax15(scores: Float[Tensor, "*rows K"], mask: Bool[Tensor, "..."] | None = None) -> Float[Tensor, "*rows K"]:
    """Half-way between softmax and sparsemax: α-entmax with α = 1.5 (Peters et al. 2019)."""
    return _masked(_Entmax15.apply, scores, mask)


@explained
def proportional(scores: Float[Tensor, "*rows K"], mask: Bool[Tensor, "..."] | None = None) -> Float[Tensor, "*rows K"]:
    """s / Σ s, for scores that are never negative, such as 1 / distance: attention as interpolation (Shepard 1968).

    Negative scores count as zero, and a row without any positive score gets zeros.
    """
    visible = scores.clamp_min(0) if mask is None else scores.clamp_min(0).masked_fill(~mask, 0)
    return visible / visible.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)


NORMALIZERS: Mapping[str, Normalizer] = names.NORMALIZERS


def as_normalizer(normalizer: str | Normalizer) -> Normalizer:
    """A normalizer by its name, or the given function itself."""
    if not isinstance(normalizer, str):
        return normalizer
    if normalizer not in NORMALIZERS:
        raise UsageError(
            f"normalizer {normalizer!r} is not known; known are {one_of(NORMALIZERS, normalizer)}, or give a function"
        )
    return NORMALIZERS[normalizer]


def _masked(normalize: Callable[[Tensor], Tensor], scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return normalize(scores)
    hidden = ~mask
    # The lowest finite value instead of -inf keeps fully masked rows free of NaN, forward and backward, until the
    # second fill makes them zero.
    weights = normalize(scores.masked_fill(hidden, torch.finfo(scores.dtype).min))
    return weights.masked_fill(hidden, 0)


def _shifted(scores: Tensor) -> Tensor:
    """Scores with maximum 0 in every row, in float32 or better.

    Thresholds are then in [-1, 0): a score below -2 has zero weight in any case, and clamping it keeps sums accurate.
    """
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return (exact - exact.amax(-1, keepdim=True)).clamp_min(-2)


def _saved(ctx: Any) -> Tensor:
    (saved,) = ctx.saved_tensors
    assert isinstance(saved, Tensor)
    return saved


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        shifted = _shifted(scores)
        descending = shifted.sort(-1, descending=True).values
        counts = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=shifted.dtype)
        surplus = descending.cumsum(-1) - 1
        size = (counts * descending > surplus).sum(-1, keepdim=True)
        threshold = surplus.gather(-1, size - 1) / size
        weights = (shifted - threshold).clamp_min_(0).to(scores.dtype)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        gradient, weights = gradients[0], _saved(ctx)
        support = weights > 0
        inside = gradient.masked_fill(~support, 0)
        mean = inside.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (inside - mean).masked_fill(~support, 0)


class _Entmax15(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        shifted = _shifted(scores / 2)
        descending = shifted.sort(-1, descending=True).values
        counts = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=shifted.dtype)
        # With k keys in the support, Σ (z - τ)² = 1 is a quadratic in τ: k (τ - mean)² = 1 - k variance.
        mean = descending.cumsum(-1) / counts
        spread = descending.square().cumsum(-1) - counts * mean.square()
        thresholds = mean - ((1 - spread) / counts).clamp_min_(0).sqrt_()
        size = (thresholds <= descending).sum(-1, keepdim=True)
        root = (shifted - thresholds.gather(-1, size - 1)).clamp_min_(0)
        ctx.save_for_backward(root.to(scores.dtype))
        return root.square().to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        gradient, root = gradients[0], _saved(ctx)
        weighted = gradient * root
        return weighted - root * (weighted.sum(-1, keepdim=True) / root.sum(-1, keepdim=True))
