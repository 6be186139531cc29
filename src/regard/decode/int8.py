"""Linear layers in int8, which newer processors multiply several times as fast as float32.

Each row of a weight is quantized once, to −127 … 127 times the row's scale; so is each row of features, at every call.
The integer products are exact.
"""

from functools import cache

import torch
from jaxtyping import Float, Int8
from torch import Tensor
from torch.nn import functional as F

from regard.decode.weight_formats import WeightFormat, with_weights_as
from regard.models.generator import Generator


class Int8Weight(WeightFormat):
    """A weight quantized to int8, with one scale per row."""

    numbers: Int8[Tensor, "V E"]
    scales: Float[Tensor, " V"]

    @staticmethod
    def __new__(cls, numbers: Int8[Tensor, "V E"], scales: Float[Tensor, " V"]) -> "Int8Weight":
        made = Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scales.dtype, device=numbers.device)
        made.numbers, made.scales = numbers, scales
        return made

    @classmethod
    def of(cls, matrix: Float[Tensor, "V E"]) -> "Int8Weight":
        """Quantizes a matrix. A row with NaN or infinity becomes all NaN."""
        from regard.kernels.cpu_int8 import rounded

        return cls(*rounded(matrix.float().contiguous()))

    def full(self) -> Float[Tensor, "V E"]:
        return self.numbers * self.scales[:, None]

    def part(self, rows: slice) -> "Int8Weight":
        return Int8Weight(self.numbers[rows], self.scales[rows])

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        from regard.kernels.cpu_int8 import rounded, scaled_

        if self.numbers.shape[1] == 1:  # for which torch's product is wrong
            return F.linear(features, self.full().to(features.dtype), bias)
        numbers, scales = rounded(features.reshape(-1, features.shape[-1]).float().contiguous())
        sums = torch._int_mm(numbers, self.numbers.t())
        found = scaled_(sums, scales, self.scales, bias)
        return found.view(*features.shape[:-1], len(self.numbers)).to(features.dtype)


@cache
def is_exact() -> bool:
    """Whether int8 products are exact here: on some older processors they overflow."""
    rows = torch.full((64, 256), 127, dtype=torch.int8, device="cpu")
    rows[::2] = -127
    wide = rows.long()
    return torch.equal(torch._int_mm(rows, rows.t()).long(), wide @ wide.t())


@cache
def has_int8() -> bool:
    """Whether int8 products are fast and exact here; without oneDNN torch's are not vectorized."""
    return torch.backends.mkldnn.is_available() and is_exact()  # type: ignore[no-untyped-call]


def in_int8(model: Generator) -> Generator:
    """A copy of the model with int8 linear layers. Those with one output are gates, which would lose accuracy and gain
    nothing."""
    return with_weights_as(model, lambda matrix: matrix if len(matrix) == 1 else Int8Weight.of(matrix))
