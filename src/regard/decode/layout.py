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
    _packed: Tensor | None
    _parts: dict[tuple[int | None, ...], "Packed"]

    @staticmethod
    def __new__(cls, matrix: Float[Tensor, "V E"]) -> "Packed":
        made = Tensor._make_wrapper_subclass(cls, matrix.shape, dtype=matrix.dtype, device=matrix.device)
        made.matrix, made._packed, made._parts = matrix, None, {}
        return made

    @classmethod
    def of(cls, matrix: Float[Tensor, "V E"]) -> "Packed":
        """The same as a matrix, which must not change any more. It is packed when it is first multiplied by: of some
        matrices only parts ever are."""
        return cls(matrix.detach())

    def full(self) -> Float[Tensor, "V E"]:
        return self.matrix

    def part(self, rows: slice) -> "Packed":
        if rows == slice(None):
            return Packed(self.matrix)
        # Steps ask for the same parts again and again.
        key = rows.start, rows.stop, rows.step
        if key not in self._parts:
            self._parts[key] = Packed(self.matrix[rows])
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
