"""Attention of few queries and its caches on CUDA devices, in Triton."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

QUERIES, KEYS = 16, 32
"""Maximum number of queries per row, and keys per iteration; `tl.dot` needs at least 16 of each."""

WARPS, STAGES = 4, 2

PLACES = 16
"""Hypotheses of a source per warp: with more, a thread would run out of registers."""


def few_queries(
    query: Float[Tensor, "B H Q D"],
    key: Float[Tensor, "B G K D"],
    value: Float[Tensor, "B G K Dv"],
    bias: Float[Tensor, "..."] | None,
    scale: float,
) -> Float[Tensor, "B H Q Dv"]:
    """Softmax attention of at most 16 queries to any number of keys, as in each step of decoding, where kernels for
    many queries would leave most of the device idle. The result's memory layout is "B Q H Dv"."""
    batch, heads, queries, width = query.shape
    context = query.new_empty(batch, queries, heads, value.shape[-1]).transpose(1, 2)
    rows = None if bias is None else bias.expand(batch, heads, queries, key.shape[2])
    if rows is not None and rows.stride(-1) != 1:
        rows = rows.contiguous()
    _few_queries[(batch * heads,)](
        query,
        key,
        value,
        query if rows is None else rows,
        context,
        scale,
        key.shape[2],
        *query.stride()[:3],
        *key.stride()[:3],
        *value.stride()[:3],
        *((0, 0, 0) if rows is None else rows.stride()[:3]),
        *context.stride()[:3],
        heads,
        heads // key.shape[1],
        queries,
        biased=rows is not None,
        width=width,
        value_width=value.shape[-1],
        most=QUERIES,
        together=KEYS,
        precision="tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee",
        num_warps=WARPS,
        num_stages=STAGES,
    )
    return context


# Arguments that change from step to step are not specialized, or there would be a kernel for each.
@triton.jit(do_not_specialize=["scale", "keys", "bias_row", "bias_head", "bias_query", "heads", "share", "queries"])
@no_type_check
def _few_queries(
    query,
    key,
    value,
    bias,
    context,
    scale,
    keys,
    query_row,
    query_head,
    query_place,
    key_row,
    key_head,
    key_place,
    value_row,
    value_head,
    value_place,
    bias_row,
    bias_head,
    bias_query,
    context_row,
    context_head,
    context_place,
    heads,
    share,
    queries,
    biased: tl.constexpr,
    width: tl.constexpr,
    value_width: tl.constexpr,
    most: tl.constexpr,
    together: tl.constexpr,
    precision: tl.constexpr,
):
    """All queries of one head of one row, with the running maximum and sum of Milakov and Gimelshein (2018)."""
    row = (tl.program_id(0) // heads).to(tl.int64)  # offsets may exceed 32 bits
    head = tl.program_id(0) % heads
    group = head // share
    places = tl.arange(0, most)
    there = places[:, None] < queries
    features = tl.arange(0, width)[None, :]
    value_features = tl.arange(0, value_width)[None, :]
    asked = tl.load(
        query + row * query_row + head * query_head + places[:, None] * query_place + features, mask=there, other=0.0
    )
    highest = tl.full([most], float("-inf"), tl.float32)
    total = tl.zeros([most], tl.float32)
    mixed = tl.zeros([most, value_width], tl.float32)
    for first in range(0, keys, together):
        each = first + tl.arange(0, together)
        inside = each < keys
        known = tl.load(
            key + row * key_row + group * key_head + each[:, None] * key_place + features,
            mask=inside[:, None],
            other=0.0,
        )
        # Loaded with the keys, before anything is computed.
        held = tl.load(
            value + row * value_row + group * value_head + each[:, None] * value_place + value_features,
            mask=inside[:, None],
            other=0.0,
        )
        scores = tl.dot(asked, tl.trans(known), input_precision=precision) * scale
        if biased:
            scores += tl.load(
                bias + row * bias_row + head * bias_head + places[:, None] * bias_query + each[None, :],
                mask=there & inside[None, :],
                other=0.0,
            ).to(tl.float32)
        scores = tl.where(inside[None, :], scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        # A query without a visible key so far has a maximum of -inf, and only zero weights.
        level = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp(scores - level[:, None])
        faded = tl.exp(highest - level)
        total = total * faded + tl.sum(weights, 1)
        mixed = mixed * faded[:, None] + tl.dot(weights.to(held.dtype), held, input_precision=precision)
        highest = higher
    mixed = mixed / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        context + row * context_row + head * context_head + places[:, None] * context_place + value_features,
        mixed.to(context.dtype.element_ty),
        mask=there,
    )


def write(
    keys: Float[Tensor, "N Gk 1 D"],
    values: Float[Tensor, "N G 1 Dv"],
    kept_keys: Float[Tensor, "B Gk room places D"],
    position: int,
    kept_values: Float[Tensor, "B G value_room places Dv"],
    value_position: int,
) -> None:
    """Writes the keys and values of one position of each hypothesis into the cache of its source."""
    width, value_width = keys.shape[-1], values.shape[-1]
    numbers, value_numbers = keys.shape[1] * width, values.shape[1] * value_width
    _write[(len(keys), 2)](
        keys,
        values,
        kept_keys,
        kept_values,
        position,
        value_position,
        kept_keys.shape[3],
        *keys.stride()[:2],
        *values.stride()[:2],
        *kept_keys.stride()[:4],
        *kept_values.stride()[:4],
        width=width,
        numbers=numbers,
        value_width=value_width,
        value_numbers=value_numbers,
        block=triton.next_power_of_2(max(numbers, value_numbers)),
        num_warps=4,
    )


@triton.jit(do_not_specialize=["position", "value_position", "places"])
@no_type_check
def _write(
    keys,
    values,
    kept_keys,
    kept_values,
    position,
    value_position,
    places,
    key_row,
    key_head,
    value_row,
    value_head,
    kept_key_row,
    kept_key_head,
    kept_key_position,
    kept_key_place,
    kept_value_row,
    kept_value_head,
    kept_value_position,
    kept_value_place,
    width: tl.constexpr,
    numbers: tl.constexpr,
    value_width: tl.constexpr,
    value_numbers: tl.constexpr,
    block: tl.constexpr,
):
    """One program: the keys, or the values, of all heads of one hypothesis."""
    row = tl.program_id(0).to(tl.int64)
    source = row // places
    place = row % places
    index = tl.arange(0, block)
    if tl.program_id(1) == 0:
        head = index // width
        feature = index % width
        inside = index < numbers
        held = tl.load(keys + row * key_row + head * key_head + feature, mask=inside)
        target = kept_keys + source * kept_key_row + position * kept_key_position + place * kept_key_place
        tl.store(target + head * kept_key_head + feature, held, mask=inside)
    else:
        head = index // value_width
        feature = index % value_width
        inside = index < value_numbers
        held = tl.load(values + row * value_row + head * value_head + feature, mask=inside)
        target = kept_values + source * kept_value_row + value_position * kept_value_position + place * kept_value_place
        tl.store(target + head * kept_value_head + feature, held, mask=inside)


def branch_(writers: Int[Tensor, "B places room"], rows: Int[Tensor, "B places"], length: int) -> None:
    """`Lineage.branch`, in place."""
    places, room = writers.shape[1:]
    block = triton.next_power_of_2(places)
    warps = min(max(block // PLACES, 1), 16)
    _branch[(len(writers),)](writers, rows, length, places, room, block=block, together=KEYS, num_warps=warps)


@triton.jit(do_not_specialize=["length", "places", "room"])
@no_type_check
def _branch(writers, rows, length, places, room, block: tl.constexpr, together: tl.constexpr):
    """One program: the hypotheses of one source. All threads read before any writes."""
    source = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, block)
    parent = tl.load(rows + source * places + place, mask=place < places, other=0) % places
    writers += source * places * room
    for first in range(0, room, together):
        position = first + tl.arange(0, together)[None, :]
        inside = (place[:, None] < places) & (position < room)
        read = tl.load(writers + parent[:, None] * room + position, mask=inside, other=0)
        read = tl.where(position < length, read, place[:, None].to(read.dtype))
        tl.debug_barrier()
        tl.store(writers + place[:, None] * room + position, read, mask=inside)


def lineage_bias(
    writers: Int[Tensor, "B places room"], length: int, dtype: torch.dtype
) -> Float[Tensor, "B places length_places"]:
    """`Lineage.bias` of the first `length` positions."""
    sources, places, room = writers.shape
    bias = torch.empty(sources, places, length * places, dtype=dtype, device=writers.device)
    _lineage_bias[(sources * places,)](writers, bias, length, places, room, together=4 * KEYS, num_warps=4)
    return bias


@triton.jit(do_not_specialize=["length", "places", "room"])
@no_type_check
def _lineage_bias(writers, bias, length, places, room, together: tl.constexpr):
    """One program: one hypothesis."""
    row = tl.program_id(0).to(tl.int64)
    for first in range(0, length * places, together):
        index = first + tl.arange(0, together)
        writer = tl.load(writers + row * room + index // places, mask=index < length * places, other=0)
        hidden = tl.where(writer == index % places, 0.0, float("-inf"))
        tl.store(bias + row * length * places + index, hidden.to(bias.dtype.element_ty), mask=index < length * places)
