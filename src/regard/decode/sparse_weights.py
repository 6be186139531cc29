"""Products with sparse features.

In a trained Transformer often less than a tenth of the ReLU activations are nonzero (Li et al. 2023, "The Lazy Neuron
Phenomenon"). Adding up only their columns of the weight is faster than a dense product.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode.packed_weights import PackedWeight
from regard.kernels import pick


class SparseWeight(PackedWeight):
    """A weight for mostly zero features; falls back to the dense product where too many are nonzero."""

    _columns: Float[Tensor, "E V"] | None = None

    def linear(
        self, features: Float[Tensor, "*rows E"], bias: Float[Tensor, " V"] | None = None
    ) -> Float[Tensor, "*rows V"]:
        found: Tensor | None = None
        sparse_linear = pick("sparse_linear", features)
        if sparse_linear is not None and self._fits(features, bias):
            if self._columns is None:
                self._columns = self.matrix.t().contiguous()
            found = sparse_linear(features, self._columns, bias)
        return super().linear(features, bias) if found is None else found

    @staticmethod
    def suits(matrix: Float[Tensor, "V E"]) -> bool:
        """Whether zeros may be skipped: the loop is for float32, and 0 × inf would be NaN."""
        return matrix.dtype == torch.float32 and bool(matrix.isfinite().all())
