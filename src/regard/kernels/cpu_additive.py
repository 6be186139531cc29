"""Scores of additive attention on CPUs, compiled by numba."""

from typing import Any, no_type_check

from jaxtyping import Float
from numba import float32, njit
from torch import Tensor

from regard.kernels.cpu_attention import SUMS, floats

FAR = float32(7.90531110763549805)
"""Inputs are clamped here, where the approximation is within 3e-7 of 1."""
_A1, _A3, _A5 = float32(4.89352455891786e-03), float32(6.37261928875436e-04), float32(1.48572235717979e-05)
_A7, _A9 = float32(5.12229709037114e-08), float32(-8.60467152213735e-11)
_A11, _A13 = float32(2.00018790482477e-13), float32(-2.76076847742355e-16)
_B0, _B2 = float32(4.89352518554385e-03), float32(2.26843463243900e-03)
_B4, _B6 = float32(1.18534705686654e-04), float32(1.19825839466702e-06)


# Unlike sums, these steps must not be reordered.
@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
@no_type_check
def hyperbolic_tangent(number: Any) -> Any:
    """tanh by the rational approximation of the Eigen library, which vectorizes, unlike a library call. NaN stays
    NaN."""
    clamped = FAR if number > FAR else (-FAR if number < -FAR else number)
    square = clamped * clamped
    above = (((((_A13 * square + _A11) * square + _A9) * square + _A7) * square + _A5) * square + _A3) * square + _A1
    below = ((_B6 * square + _B4) * square + _B2) * square + _B0
    return clamped * above / below


def energies(
    query: Float[Tensor, "B Q D"], key: Float[Tensor, "B K D"], energy: Float[Tensor, " D"]
) -> Float[Tensor, "B Q K"]:
    """v · tanh(q + k) for every pair, without the intermediate tensor "B Q K D"."""
    query, key, energy = query.contiguous(), key.contiguous(), energy.contiguous()
    (batch, queries, width), keys = query.shape, key.shape[1]
    scores = query.new_empty(batch, queries, keys)
    # Addresses, because converting tensors to arrays takes longer than a few rows.
    _energies(query.data_ptr(), key.data_ptr(), energy.data_ptr(), scores.data_ptr(), (batch, queries, keys, width))
    return scores


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _energies(queries, keys, energy, scores, shape):
    batch, places, count, width = shape
    asked, known, share, result = floats(queries), floats(keys), floats(energy), floats(scores)
    for row in range(batch * places):
        query, first = row * width, row // places * count
        for rank in range(count):
            key, total = (first + rank) * width, float32(0)
            for feature in range(width):
                total += share[feature] * hyperbolic_tangent(asked[query + feature] + known[key + feature])
            result[row * count + rank] = total
