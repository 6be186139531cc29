"""Products with what is mostly zero.

Of what ReLU leaves in a trained Transformer, few numbers are not zero (Li et al. 2023, "The Lazy Neuron Phenomenon"):
often less than a tenth. Adding up the columns of a matrix that belong to these takes less time than a product with all.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.packed_weights import PackedWeight
from regard.kernels import pick


class SparseWeight(PackedWeight):
    """A matrix that is multiplied by features of which most are zero; where too many are not, as any other."""

    _columns: Float[Tensor, "E V"] | None = None

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        found: Tensor | None = None
        times_few = pick("sparse_linear", features)
        if times_few is not None and self._fits(features, bias):
            if self._columns is None:
                self._columns = self.matrix.t().contiguous()
            found = times_few(features, self._columns, bias)
        return super().linear(features, bias) if found is None else found

    @staticmethod
    def suits(matrix: Float[Tensor, "V E"]) -> bool:
        """Whether zeros may be left out: the loop knows 32 bits, and zero times what is infinite would be no number."""
        return matrix.dtype == torch.float32 and bool(matrix.isfinite().all())
