"""Weights laid out for products on a CPU.

A library of products brings a matrix into an order of its own before it multiplies by it, at every call. Where the rows
to multiply are as few as in a step of decoding, that takes a large part of the time; so it is done here once.
"""

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.decode.modules import modules_of
from regard.decode.multipliers import Multiplier, with_multipliers
from regard.models import RecurrentTranslator
from regard.models.generator import Generator
from regard.models.readout import LinearReadout
from regard.nn.cells import Cell

ROWS = 64
"""Rows that oneDNN is told to expect; it multiplies any number of them."""


class Packed(Multiplier):
    """A matrix in the order in which oneDNN multiplies by it, beside the matrix itself."""

    matrix: Float[Tensor, "V E"]
    packed: Tensor | None
    """Nothing, if there is nothing to multiply by."""
    _parts: dict[tuple[int | None, ...], "Packed"]

    @staticmethod
    def __new__(cls, matrix: Float[Tensor, "V E"], packed: Tensor | None) -> "Packed":
        made = Tensor._make_wrapper_subclass(cls, matrix.shape, dtype=matrix.dtype, device=matrix.device)
        made.matrix, made.packed, made._parts = matrix, packed, {}
        return made

    @classmethod
    def of(cls, matrix: Float[Tensor, "V E"]) -> "Packed":
        """The same as a matrix, which must not change any more."""
        matrix = matrix.detach()
        if not matrix.numel():
            return cls(matrix, None)
        return cls(matrix, torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), ROWS))

    def full(self) -> Float[Tensor, "V E"]:
        return self.matrix

    def part(self, rows: slice) -> "Packed":
        if rows == slice(None):
            return Packed(self.matrix, self.packed)
        # Steps ask for the same parts again and again.
        key = rows.start, rows.stop, rows.step
        if key not in self._parts:
            self._parts[key] = Packed.of(self.matrix[rows])
        return self._parts[key]

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        if self.packed is None or not features.numel() or self._is_other(features) or self._is_other(bias):
            return F.linear(features, self.matrix, bias)
        # oneDNN takes any bias for one whose numbers lie side by side.
        added = bias if bias is None else bias.contiguous()
        found: Tensor = torch.ops.mkldnn._linear_pointwise(features, self.packed, added, "none", [], "")
        return found

    def _is_other(self, given: Tensor | None) -> bool:
        """Whether this is in another number format, or gradients must flow through it."""
        if given is None:
            return False
        return given.dtype != self.matrix.dtype or (given.requires_grad and torch.is_grad_enabled())


@cache
def can_pack(dtype: torch.dtype) -> bool:
    """Whether oneDNN multiplies so in a number format here: not every build of torch has it, nor every processor all
    formats."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    one = torch.eye(16, dtype=dtype)
    try:
        return torch.equal(Packed.of(one).linear(one), one)
    except (AttributeError, RuntimeError):
        return False


def has_matrices(model: Generator) -> bool:
    """Whether there is something to lay out."""
    return any(isinstance(module, nn.Linear | LinearReadout | Cell) for module in modules_of(model))


def laid_out(model: Generator) -> Generator:
    """A model with the same numbers, laid out; all else is the model's own, as its taps are."""
    copy = with_multipliers(model, lambda matrix: Packed.of(matrix) if can_pack(matrix.dtype) else matrix)
    decoders = [module.decoder for module in modules_of(copy) if isinstance(module, RecurrentTranslator)]
    for cell in (module for decoder in decoders for module in modules_of(decoder) if isinstance(module, Cell)):
        cell.input_weight, cell.hidden_weight = map(_by_inputs, (cell.input_weight, cell.hidden_weight))
    return copy


def _by_inputs(weight: Tensor) -> nn.Parameter:
    """The same matrix, its columns one after another in memory: so nothing has to be brought into order where rows are
    few, and torch's cells can multiply by it."""
    return nn.Parameter(weight.t().contiguous().t(), requires_grad=False)
