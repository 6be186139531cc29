"""Attention of few queries on CPUs, compiled by numba; and parts that other loops share."""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float
from numba import float32, int32, njit, types
from numba.extending import intrinsic
from torch import Tensor

SUMS = {"reassoc", "contract", "nsz"}
"""What the compiler may do to sums: add in another order. What is no number, or infinite, must stay so."""

TOGETHER = 4
"""So many keys are looked at together: each number of a query is then read once for all of them."""

LEAST = float32(-87.0)
"""The exponential of less counts as 0: it is hardly a number of 32 bits, and a processor takes very long for such."""
_LOG2_E, _LN2, _LN2_REST = float32(1.44269504), float32(0.693359375), float32(-2.12194440e-4)
_C6, _C5, _C4 = float32(1.9875691500e-4), float32(1.3981999507e-3), float32(8.3334519073e-3)
_C3, _C2, _C1 = float32(4.1665795894e-2), float32(1.6666665459e-1), float32(5.0000001201e-1)


# Unlike sums, these steps must stay in their order.
@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
@no_type_check
def exponential(number: Any) -> Any:
    """exp of a number that is not above 0, by the polynomial of Moshier's Cephes library: unlike one that is called, it
    is done for several numbers at once."""
    held = number if number > LEAST else LEAST
    power = np.floor(held * _LOG2_E + float32(0.5))
    rest = held - power * _LN2 - power * _LN2_REST
    series = ((((_C6 * rest + _C5) * rest + _C4) * rest + _C3) * rest + _C2) * rest + _C1
    scale = np.int32((int32(power) + int32(127)) << int32(23)).view(np.float32)  # 2 to this power
    result = (series * rest * rest + rest + float32(1)) * scale
    # What is no number stays none.
    return result if number > LEAST else (float32(0) if number <= LEAST else number)


def few_queries(
    query: Float[Tensor, "B H Q D"],
    key: Float[Tensor, "B G K D"],
    value: Float[Tensor, "B G K Dv"],
    bias: Float[Tensor, "..."] | None,
    scale: float,
) -> Float[Tensor, "B H Q Dv"]:
    """Softmax attention of a few queries to any number of keys: what each step of decoding does.

    What a bias of −inf hides is not even read: of all that the hypotheses of a beam have written, one has read little.
    The features of each vector must lie side by side. The memory of the result is in the order "B Q H Dv".
    """
    batch, heads, queries, width = query.shape
    keys, value_width = key.shape[2], value.shape[3]
    context = query.new_empty(batch, queries, heads, value_width)
    rows = None if bias is None else bias.float().expand(batch, heads, queries, keys)
    # Addresses and strides, as kernels have them: making arrays of tensors takes longer than what is done with them.
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
    """The numbers that begin at an address."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), generate


@njit(nogil=True, cache=True, fastmath=SUMS, error_model="numpy")
@no_type_check
def _few_queries(queries, keys, values, biases, contexts, scale, shape, query, key, value, bias):
    """One query after another, each with all heads that see alike."""
    batch, heads, share, places, count, width, value_width = shape
    asked, known, held, added, context = (
        floats(queries),
        floats(keys),
        floats(values),
        floats(biases),
        floats(contexts),
    )
    scale = float32(scale)
    alike = heads if biases == 0 or bias[1] == 0 else 1
    seen = np.arange(count + TOGETHER)
    plus = np.zeros(count + TOGETHER, dtype=np.float32)
    weights = np.empty(alike * (count + TOGETHER), dtype=np.float32)
    mixed = np.empty(value_width, dtype=np.float32)
    whole = _fill_up(seen, plus, count)
    for row in range(batch):
        for place in range(places):
            for first in range(0, heads, alike):
                if biases != 0:
                    begin = row * bias[0] + first * bias[1] + place * bias[2]
                    whole = _visible(added, begin, bias[3], count, seen, plus)
                for head in range(first, first + alike):
                    begin = row * query[0] + head * query[1] + place * query[2]
                    own = weights[(head - first) * whole : (head - first + 1) * whole]
                    _compare(asked, begin, known, row * key[0] + head // share * key[1], key[2], width, seen, own)
                    _level(own, plus, scale)
                # Of all heads at once: a processor does many numbers at a time.
                for rank in range(alike * whole):
                    weights[rank] = exponential(weights[rank])
                for head in range(first, first + alike):
                    own = weights[(head - first) * whole : (head - first + 1) * whole]
                    total = _mix(held, row * value[0] + head // share * value[1], value[2], seen, own, mixed)
                    # A query that sees nothing gets nothing.
                    part = float32(1) / total if whole else float32(0)
                    begin = ((row * places + place) * heads + head) * value_width
                    for feature in range(value_width):
                        context[begin + feature] = mixed[feature] * part


@njit(nogil=True, cache=True)
@no_type_check
def _visible(added, begin, stride, count, seen, plus):
    """Lists the keys that a bias does not hide, and what it adds to their scores; gives their number, filled up."""
    found = 0
    for place in range(count):
        number = added[begin + place * stride]
        seen[found], plus[found] = place, number
        found += number != -np.inf
    return _fill_up(seen, plus, found)


@njit(nogil=True, cache=True)
@no_type_check
def _fill_up(seen, plus, found):
    """Fills up a list of keys, so that it can be cut into equal pieces, with the first of them, hidden."""
    whole = (found + TOGETHER - 1) // TOGETHER * TOGETHER
    for rank in range(found, whole):
        seen[rank], plus[rank] = seen[0], -np.inf
    return whole


@njit(nogil=True, cache=True, fastmath=SUMS)
@no_type_check
def _compare(asked, query, known, begin, stride, width, seen, weights):
    """Writes the products of a query and the keys that it sees."""
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
def _level(weights, plus, scale):
    """Makes scores of products, less the highest of them."""
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
    """Writes the sum of the values that are seen, each multiplied by its weight; gives the sum of the weights."""
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
