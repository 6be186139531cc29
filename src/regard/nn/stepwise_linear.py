"""Products with vectors that come one after another, each known only when the last has been used.

Left to itself, torch makes a gradient as large as the weight at every step and adds it to those of the other steps;
and where it multiplies in half precision, it rounds the weight anew at every step and keeps what it rounded. Here a
weight is rounded once, and its gradient is one product over all steps.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.device import autocast_dtype

StepInputs = list[tuple[Tensor, int]]
"""Inputs of steps, and how often each had been changed in place when it was used."""


def narrowed(tensor: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """A tensor in the number format in which autocast multiplies; as it is, where there is none, or if it is one of
    float64, which autocast leaves alone."""
    narrow = autocast_dtype(tensor)
    return tensor if narrow is None or tensor.dtype == torch.float64 else tensor.to(narrow)


class StepwiseLinear:
    """One sum after another: what is known of it for all T steps beforehand, and products of weights with inputs that
    come late. What is known may be expanded from less.

    Whether the weights learn is decided here, and not when a sum is asked for."""

    def __init__(self, known: Float[Tensor, "T N R"], *weights: Float[Tensor, "R _"]) -> None:
        self._fixed = [narrowed(weight.detach()).t() for weight in weights]
        self._kept: tuple[StepInputs, ...] = tuple([] for _ in weights)
        # Inputs of weights that do not learn are not kept: nobody would ask for them.
        self._learns = torch.is_grad_enabled() and any(weight.requires_grad for weight in weights)
        if self._learns:
            known = _Late.apply(known, self._kept, *weights)  # type: ignore[no-untyped-call]
        self._known = iter(known.unbind(0))

    def __call__(self, *inputs: Float[Tensor, "N _"]) -> Float[Tensor, "N R"]:
        """The next sum, given what each weight is multiplied with."""
        total = next(self._known)
        for fixed, kept, given in zip(self._fixed, self._kept, inputs, strict=True):
            if self._learns:
                kept.append((given.detach(), given._version))
            total = torch.addmm(total, given, fixed)
        return total


class _Late(torch.autograd.Function):
    """Gives what is known as it is: the gradient by it is that by all sums, and from that come those by the weights,
    with the inputs that are in the lists by then."""

    @staticmethod
    def forward(
        ctx: Any, known: Float[Tensor, "T N R"], kept: tuple[StepInputs, ...], *weights: Float[Tensor, "R _"]
    ) -> Float[Tensor, "T N R"]:
        ctx.kept, ctx.dtypes = kept, [weight.dtype for weight in weights]
        return known.view_as(known)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_sums: Float[Tensor, "T N R"]) -> tuple[Tensor | None, ...]:
        # Of steps that never came there are no inputs, and the gradient is zero.
        by_weights = (
            (by_sums[: len(kept)].flatten(0, 1).mT @ _joined(kept).to(by_sums.dtype)).to(dtype) if needed else None
            for kept, dtype, needed in zip(ctx.kept, ctx.dtypes, ctx.needs_input_grad[2:], strict=True)
        )
        return by_sums, None, *by_weights


def _joined(kept: StepInputs) -> Float[Tensor, "rows _"]:
    """The inputs of all steps. Torch, which does not know that they are kept, would not notice that one has changed."""
    if any(tensor._version != version for tensor, version in kept):
        raise RuntimeError("an input of a sum was changed in place after it was used, and its gradient is lost by that")
    return torch.cat([tensor for tensor, _ in kept])
