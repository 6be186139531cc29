"""Linear layers whose inputs come step by step, each depending on the last output.

By default torch computes a gradient as large as the weight at every step and sums them up; under autocast it also casts
the weight at every step and saves each copy. Here a weight is cast once, and its gradient is one product over all
steps.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.device import autocast_dtype

StepInputs = list[tuple[Tensor, int]]
"""Inputs of steps, and the version of each when it was used."""


def narrowed(tensor: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """A tensor in autocast's dtype; unchanged if autocast is off, or if it is float64, which autocast leaves alone."""
    narrow = autocast_dtype(tensor)
    return tensor if narrow is None or tensor.dtype == torch.float64 else tensor.to(narrow)


class StepwiseLinear:
    """Step by step, the sum of a part `known` for all T steps, which may be an expanded tensor, and of products of
    weights with inputs that come at each step.

    Whether gradients are needed is decided on construction, not at each step."""

    def __init__(self, known: Float[Tensor, "T N R"], *weights: Float[Tensor, "R _"]) -> None:
        self._fixed = [narrowed(weight.detach()).t() for weight in weights]
        self._inputs: tuple[StepInputs, ...] = tuple([] for _ in weights)
        self._learns = torch.is_grad_enabled() and any(weight.requires_grad for weight in weights)
        if self._learns:
            known = _DeferredGradient.apply(known, self._inputs, *weights)  # type: ignore[no-untyped-call]
        self._known = iter(known.unbind(0))

    def __call__(self, *inputs: Float[Tensor, "N _"]) -> Float[Tensor, "N R"]:
        """The next sum, given the input of each weight."""
        total = next(self._known)
        for fixed, saved, given in zip(self._fixed, self._inputs, inputs, strict=True):
            if self._learns:
                saved.append((given.detach(), given._version))
            total = torch.addmm(total, given, fixed)
        return total


class _DeferredGradient(torch.autograd.Function):
    """The identity on `known`. The gradient of `known` is that of all sums, from which backward computes those of the
    weights, with the inputs saved by then."""

    @staticmethod
    def forward(
        ctx: Any, known: Float[Tensor, "T N R"], inputs: tuple[StepInputs, ...], *weights: Float[Tensor, "R _"]
    ) -> Float[Tensor, "T N R"]:
        ctx.inputs, ctx.dtypes = inputs, [weight.dtype for weight in weights]
        return known.view_as(known)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_sums: Float[Tensor, "T N R"]) -> tuple[Tensor | None, ...]:
        # Steps that were never taken have no inputs, and a gradient of zero.
        by_weights = (
            (by_sums[: len(saved)].flatten(0, 1).mT @ _joined(saved).to(by_sums.dtype)).to(dtype) if needed else None
            for saved, dtype, needed in zip(ctx.inputs, ctx.dtypes, ctx.needs_input_grad[2:], strict=True)
        )
        return by_sums, None, *by_weights


def _joined(inputs: StepInputs) -> Float[Tensor, "rows _"]:
    """The inputs of all steps. Autograd does not know that they were saved, so their versions are checked here."""
    if any(tensor._version != version for tensor, version in inputs):
        raise RuntimeError("an input of a step was changed in place after it was used; its gradient cannot be computed")
    return torch.cat([tensor for tensor, _ in inputs])
