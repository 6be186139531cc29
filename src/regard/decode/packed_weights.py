"""Matrices in the order in which oneDNN multiplies by them.

A library of products brings a matrix into an order of its own before it multiplies by it, at every call. Where the rows
to multiply are as few as in a step of decoding, that takes a large part of the time; so it is done here once.
"""

from functools import cache
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.decode.weight_formats import WeightFormat

ROWS = 64
"""Rows that oneDNN is told to expect; it multiplies any number of them."""


class PackedWeight(WeightFormat):
    """A matrix in the order in which oneDNN multiplies by it, beside the matrix itself."""

    matrix: Float[Tensor, "V E"]
    _packed: Tensor | None
    _parts: dict[tuple[int | None, ...], Self]

    @staticmethod
    def __new__(cls, matrix: Float[Tensor, "V E"]) -> Self:
        made = Tensor._make_wrapper_subclass(cls, matrix.shape, dtype=matrix.dtype, device=matrix.device)
        made.matrix, made._packed, made._parts = matrix, None, {}
        return made

    @classmethod
    def of(cls, matrix: Float[Tensor, "V E"]) -> Self:
        """The same as a matrix, which must not change any more. It is packed when it is first multiplied by: of some
        matrices only parts ever are."""
        return cls(matrix.detach())

    def full(self) -> Float[Tensor, "V E"]:
        return self.matrix

    def part(self, rows: slice) -> Self:
        if rows == slice(None):
            return type(self)(self.matrix)
        # Steps ask for the same parts again and again.
        key = rows.start, rows.stop, rows.step
        if key not in self._parts:
            self._parts[key] = type(self)(self.matrix[rows])
        return self._parts[key]

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        if not self._fits(features, bias):
            return F.linear(features, self.matrix, bias)
        if self._packed is None:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.matrix.contiguous(), ROWS)
        # oneDNN takes any bias for one whose numbers lie side by side.
        added = bias if bias is None else bias.contiguous()
        found: Tensor = torch.ops.mkldnn._linear_pointwise(features, self._packed, added, "none", [], "")
        return found

    def _fits(self, features: Tensor, bias: Tensor | None) -> bool:
        """Whether oneDNN can multiply these: it knows neither gradients nor autocast, nor what has no numbers."""
        given = [features] if bias is None else [features, bias]
        return (
            all(tensor.dtype == self.matrix.dtype for tensor in given)
            and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given))
            and not torch.is_autocast_enabled("cpu")
            and self.matrix.numel() > 0
            and features.numel() > 0
        )


@cache
def can_pack(dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies so in a number format here: not every build of torch has it, nor every processor all
    formats."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    one = torch.eye(16, dtype=dtype, device="cpu")
    try:
        with torch.autocast("cpu", enabled=False):  # where it is on, nothing is multiplied so
            return torch.equal(PackedWeight.of(one).linear(one), one)
    except (AttributeError, RuntimeError):
        return False
