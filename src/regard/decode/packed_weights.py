"""Weights packed once in oneDNN's layout.

A matrix library repacks the weight at every call. For the few rows of a decoding step that takes a large part of the
time.
"""

from functools import cache
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.decode.weight_formats import WeightFormat

ROWS = 64
"""Number of input rows that the layout is optimized for; any number works."""


class PackedWeight(WeightFormat):
    """A weight and its copy in oneDNN's layout."""

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
        """A packed weight of a matrix, which must not change afterwards. Packing waits for the first product, because
        some matrices are only ever used in parts."""
        return cls(matrix.detach())

    def full(self) -> Float[Tensor, "V E"]:
        return self.matrix

    def part(self, rows: slice) -> Self:
        if rows == slice(None):
            return type(self)(self.matrix)
        # Cached, because every step uses the same parts.
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
        # oneDNN reads any bias as if it were contiguous.
        added = bias if bias is None else bias.contiguous()
        found: Tensor = torch.ops.mkldnn._linear_pointwise(features, self._packed, added, "none", [], "")
        return found

    def _fits(self, features: Tensor, bias: Tensor | None) -> bool:
        """Whether oneDNN can multiply these: it supports neither gradients nor autocast nor empty tensors."""
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
    """Whether oneDNN's packed products work for a dtype here: that depends on the build of torch and the processor."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    one = torch.eye(16, dtype=dtype, device="cpu")
    try:
        with torch.autocast("cpu", enabled=False):  # under which `linear` would not use oneDNN
            return torch.equal(PackedWeight.of(one).linear(one), one)
    except (AttributeError, RuntimeError):
        return False
