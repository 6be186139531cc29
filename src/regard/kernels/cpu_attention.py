"""Attention of few queries on CPUs, compiled by numba; and functions that other loops share."""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float
from numba import float32, int32, njit, types
from numba.extending import intrinsic
from torch import Tensor

SUMS = {"reassoc", "contract", "nsz"}
"""Fast-math flags of sums: they may be reordered, but NaN and infinity must be preserved."""

TOGETHER = 4
"""Keys per iteration: each feature of a query is then read once for all of them."""

LEAST = float32(-87.0)
"""The exponential of anything lower counts as 0: it would be a subnormal float32, which is very slow."""
_LOG2_E, _LN2, _LN2_REST = float32(1.44269504), float32(0.693359375), float32(-2.12194440e-4)
_C6, _C5, _C4 = float32(1.9875691500e-4), float32(1.3981999507e-3), float32(8.3334519073e-3)
_C3, _C2, _C1 = float32(4.1665795894e-2), float32(1.6666665459e-1), float32(5.0000001201e-1)


# Unlike sums, these steps must not be reordered.
@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
@no_type_check
def exponential(number: Any) -> Any:
    """exp of a number that is at most 0, by the polynomial of Moshier's Cephes library, which vectorizes, unlike a
    library call."""
    clamped = number if number > LEAST else LEAST
    power = np.floor(clamped * _LOG2_E + float32(0.5))
    rest = clamped - power * _LN2 - power * _LN2_REST
    series = ((((_C6 * rest + _C5) * rest + _C4) * rest + _C3) * rest + _C2) * rest + _C1
    scale = np.int32((int32(power) + int32(127)) << int32(23)).view(np.float32)  # 2 to this power
    result = (series * rest * rest + rest + float32(1)) * scale
    # NaN stays NaN.
    return result if number > LEAST else (float32(0) if number <= LEAST else number)


def few_queries(
    query: Float[Tensor, "B H Q D"],
    key: Float[Tensor, "B G K D"],
    value: Float[Tensor, "B G K Dv"],
    bias: Float[Tensor, "..."] | None,
    scale: float,
) -> Float[Tensor, "B H Q Dv"]:
    """Softmax attention of few queries to any number of keys, as in each step of decoding.

    Keys with a bias of −inf are skipped: in a shared cache these are most. The features of each vector must be
    contiguous. The result's memory layout is "B Q H Dv".
    """
    batch, heads, queries, width = query.shape
    keys, value_width = key.shape[2], value.shape[3]
    context = query.new_empty(batch, queries, heads, value_width)
    rows = None if bias is None else bias.float().expand(batch, heads, queries, keys)
    # Addresses and strides, because converting tensors to arrays takes longer than the work itself.
    _few_queries(
        query.data_ptr(),
        key.data_ptr(),
        value.data_ptr(),
        0 if rows is None else rows.data_ptr(),
        context.data_ptr(),
        scale,
        (batch, heads, heads // key.shape[1], queries, keys, width, value_width),
        query.stride(),
        key.stride(),
        value.stride(),
        (0, 0, 0, 0) if rows is None else rows.stride(),
    )
    return context.transpose(1, 2)


@intrinsic
@no_type_check
def floats(typing, address):
    """A pointer to float32 from an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), generate


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _few_queries(queries, keys, values, biases, contexts, scale, shape, query, key, value, bias):
    """One query after another, with all heads that share its bias."""
    batch, heads, share, places, count, width, value_width = shape
    asked, known, held, added, context = (
        floats(queries),
        floats(keys),
        floats(values),
        floats(biases),
        floats(contexts),
    )
    scale = float32(scale)
    shared = heads if biases == 0 or bias[1] == 0 else 1
    seen = np.arange(count + TOGETHER)
    plus = np.zeros(count + TOGETHER, dtype=np.float32)
    weights = np.empty(shared * (count + TOGETHER), dtype=np.float32)
    mixed = np.empty(value_width, dtype=np.float32)
    whole = _pad(seen, plus, count)
    for row in range(batch):
        for place in range(places):
            for first in range(0, heads, shared):
                if biases != 0:
                    begin = row * bias[0] + first * bias[1] + place * bias[2]
                    whole = _visible(added, begin, bias[3], count, seen, plus)
                for head in range(first, first + shared):
                    begin = row * query[0] + head * query[1] + place * query[2]
                    own = weights[(head - first) * whole : (head - first + 1) * whole]
                    _compare(asked, begin, known, row * key[0] + head // share * key[1], key[2], width, seen, own)
                    _scores(own, plus, scale)
                # For all heads at once, which vectorizes better.
                for rank in range(shared * whole):
                    weights[rank] = exponential(weights[rank])
                for head in range(first, first + shared):
                    own = weights[(head - first) * whole : (head - first + 1) * whole]
                    total = _mix(held, row * value[0] + head // share * value[1], value[2], seen, own, mixed)
                    # A fully masked query gets zeros.
                    part = float32(1) / total if whole else float32(0)
                    begin = ((row * places + place) * heads + head) * value_width
                    for feature in range(value_width):
                        context[begin + feature] = mixed[feature] * part


@njit(nogil=True, cache=True)
@no_type_check
def _visible(added, begin, stride, count, seen, plus):
    """Lists the keys that a bias does not hide, and their biases; returns the padded number of keys."""
    found = 0
    for place in range(count):
        number = added[begin + place * stride]
        seen[found], plus[found] = place, number
        found += number != -np.inf
    return _pad(seen, plus, found)


@njit(nogil=True, cache=True)
@no_type_check
def _pad(seen, plus, found):
    """Pads a list of keys to a multiple of TOGETHER, by repeating the first with a bias of −inf."""
    whole = (found + TOGETHER - 1) // TOGETHER * TOGETHER
    for rank in range(found, whole):
        seen[rank], plus[rank] = seen[0], -np.inf
    return whole


@njit(nogil=True, cache=True, fastmath=SUMS)
@no_type_check
def _compare(asked, query, known, begin, stride, width, seen, weights):
    """Writes the products of a query and its visible keys."""
    for rank in range(0, len(weights), TOGETHER):
        first, second = begin + seen[rank] * stride, begin + seen[rank + 1] * stride
        third, fourth = begin + seen[rank + 2] * stride, begin + seen[rank + 3] * stride
        a = b = c = d = float32(0)
        for feature in range(width):
            number = asked[query + feature]
            a += number * known[first + feature]
            b += number * known[second + feature]
            c += number * known[third + feature]
            d += number * known[fourth + feature]
        weights[rank], weights[rank + 1], weights[rank + 2], weights[rank + 3] = a, b, c, d


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _scores(weights, plus, scale):
    """Turns products into scores, minus their maximum."""
    a = b = c = d = float32(-np.inf)
    for rank in range(0, len(weights), TOGETHER):
        first, second = weights[rank] * scale + plus[rank], weights[rank + 1] * scale + plus[rank + 1]
        third, fourth = weights[rank + 2] * scale + plus[rank + 2], weights[rank + 3] * scale + plus[rank + 3]
        weights[rank], weights[rank + 1], weights[rank + 2], weights[rank + 3] = first, second, third, fourth
        a, b, c, d = max(a, first), max(b, second), max(c, third), max(d, fourth)
    top = max(max(a, b), max(c, d))
    for rank in range(len(weights)):
        weights[rank] -= top


@njit(nogil=True, cache=True, fastmath=SUMS)
@no_type_check
def _mix(held, begin, stride, seen, weights, mixed):
    """Writes the weighted sum of the visible values; returns the sum of the weights."""
    for feature in range(len(mixed)):
        mixed[feature] = 0
    total = float32(0)
    for rank in range(0, len(weights), TOGETHER):
        first, second = begin + seen[rank] * stride, begin + seen[rank + 1] * stride
        third, fourth = begin + seen[rank + 2] * stride, begin + seen[rank + 3] * stride
        a, b, c, d = weights[rank], weights[rank + 1], weights[rank + 2], weights[rank + 3]
        total += (a + b) + (c + d)
        for feature in range(len(mixed)):
            mixed[feature] += (
                a * held[first + feature]
                + b * held[second + feature]
                + c * held[third + feature]
                + d * held[fourth + feature]
            )
    return total
