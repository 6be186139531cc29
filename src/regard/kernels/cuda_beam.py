"""The part of a greedy or beam search step after the model, on CUDA devices, in Triton."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float, Int
from torch import Tensor

COLUMNS = 1024
"""Numbers of a row per iteration; numbers this far apart form a column."""
SHARE = 256
"""Columns per warp."""
POSITIONS = 64
"""Tokens of each hypothesis per iteration."""


def highest(
    numbers: Float[Tensor, "*rows V"], count: int
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The highest numbers of each row and their indices, like a stable `topk`, except that an index of -inf may occur
    twice."""
    return _highest_of(numbers, count, (), normal=False)


def likeliest(
    logits: Float[Tensor, "*rows V"], count: int, forbidden: tuple[int, ...]
) -> tuple[Float[Tensor, "*rows count"], Int[Tensor, "*rows count"]]:
    """The highest log-probabilities of each row, in float32, and their tokens; at most three forbidden tokens get -inf.
    The log-probabilities of all tokens are never stored."""
    return _highest_of(logits, count, forbidden, normal=True)


def _highest_of(numbers: Tensor, count: int, forbidden: tuple[int, ...], normal: bool) -> tuple[Tensor, Tensor]:
    size = numbers.shape[-1]
    best = numbers.new_empty(*numbers.shape[:-1], count, dtype=torch.float32 if normal else numbers.dtype)
    places = torch.empty_like(best, dtype=torch.long)
    columns = min(triton.next_power_of_2(size), COLUMNS)
    shape = {"columns": columns, "lines": triton.next_power_of_2(-(-size // columns))}
    assert len(forbidden) <= 3
    never = (*forbidden, -1, -1, -1)[:3]
    given = numbers.contiguous(), best, places, size, *never
    _highest[(best.numel() // count,)](*given, count=count, normal=normal, **shape, num_warps=max(columns // SHARE, 1))
    return best, places


@triton.jit(do_not_specialize=["first", "second", "third"])
@no_type_check
def _highest(
    numbers,
    best,
    places,
    size,
    first,
    second,
    third,
    count: tl.constexpr,
    normal: tl.constexpr,
    columns: tl.constexpr,
    lines: tl.constexpr,
):
    """One program: one row. The maximum of each column is kept; after each result only its column is read again."""
    numbers += tl.program_id(0).to(tl.int64) * size
    best += tl.program_id(0) * count
    places += tl.program_id(0) * count
    column = tl.arange(0, columns)
    peak = tl.full([columns], float("-inf"), tl.float32)
    tops = peak
    top_places = column
    # Unrolled, so that several loads are in flight.
    for begin in tl.range(0, size, columns, loop_unroll_factor=4):
        index = begin + column
        held = tl.load(numbers + index, mask=index < size, other=float("-inf")).to(tl.float32)
        # NaN counts as the highest, as in `topk`.
        held = tl.where(held != held, float("inf"), held)
        peak = tl.maximum(peak, held)
        held = tl.where((index == first) | (index == second) | (index == third), float("-inf"), held)
        top_places = tl.where(held > tops, index, top_places)
        tops = tl.maximum(tops, held)
    level = 0.0
    total = 0.0
    if normal:
        level = tl.max(peak, 0)
        sums = tl.zeros([columns], tl.float32)
        for begin in tl.range(0, size, columns, loop_unroll_factor=4):
            index = begin + column
            # One infinity or NaN makes all log-probabilities NaN.
            sums += tl.exp(tl.load(numbers + index, mask=index < size, other=float("-inf")).to(tl.float32) - level)
        total = tl.log(tl.sum(sums, 0))
    line = tl.arange(0, lines)
    for rank in tl.static_range(count):
        most = tl.max(tops, 0)
        place = tl.min(tl.where(tops == most, top_places, size), 0)
        shown = (most - level) - total if normal else tl.where(most == float("inf"), float("nan"), most)
        tl.store(best + rank, shown)
        tl.store(places + rank, place.to(tl.int64))
        # What is left of the column comes after this one, in order of numbers and then of indices.
        index = line * columns + place % columns
        piece = tl.load(numbers + index, mask=index < size, other=float("-inf")).to(tl.float32)
        piece = tl.where(piece != piece, float("inf"), piece)
        piece = tl.where((index == first) | (index == second) | (index == third), float("-inf"), piece)
        piece = tl.where((piece < most) | ((piece == most) & (index > place)), piece, float("-inf"))
        left = tl.max(piece, 0)
        left_place = tl.min(tl.where(piece == left, index, size), 0)
        tops = tl.where(column == place % columns, left, tops)
        top_places = tl.where(column == place % columns, left_place, top_places)


def advance_(
    found: tuple[Float[Tensor, "B beam C"], Int[Tensor, "B beam C"]],
    live: tuple[Float[Tensor, "B beam"], Int[Tensor, "B beam room"], Int[Tensor, " B"]],
    finished: tuple[Tensor, ...],
    limits: tuple[Int[Tensor, " B"], Float[Tensor, " B"]],
    flags: tuple[Bool[Tensor, " B"], Bool[Tensor, " B"]],
    length: int,
    divisor: float,
    n_best: int,
    end: int,
) -> Int[Tensor, "B beam"]:
    """The rest of a step of beam search, given the log-probabilities and tokens of each hypothesis's likeliest
    continuations (`found`); returns the row of the state that each hypothesis continues.

    Overwrites, in this order, the totals, tokens and lengths of live hypotheses; the scores, log-probabilities,
    lengths, tokens and count of finished ones; and the flags `over` and `broken`. `limits` are the maximum length of an
    output and the divisor of its bound.
    """
    searches, beam, width = found[0].shape
    kept = min(2 * beam, beam * width) if beam > 1 else 1
    rows = torch.empty(searches, beam, dtype=torch.long, device=found[0].device)
    _advance[(searches,)](
        *found,
        *live,
        *finished,
        *limits,
        *flags,
        rows,
        length,
        divisor,
        live[1].shape[2],
        finished[3].shape[2],
        beam=beam,
        width=width,
        kept=kept,
        n_best=n_best,
        end=end,
        block=triton.next_power_of_2(beam * width),
        many=triton.next_power_of_2(kept),
        places=triton.next_power_of_2(beam),
        together=POSITIONS,
        num_warps=1,
    )
    return rows


@triton.jit(do_not_specialize=["length", "room", "text_room"])
@no_type_check
def _advance(
    each,
    candidates,
    totals,
    tokens,
    lengths,
    scores,
    log_probs,
    text_lengths,
    texts,
    count,
    longest,
    bound,
    over,
    broken,
    rows,
    length,
    divisor,
    room,
    text_room,
    beam: tl.constexpr,
    width: tl.constexpr,
    kept: tl.constexpr,
    n_best: tl.constexpr,
    end: tl.constexpr,
    block: tl.constexpr,
    many: tl.constexpr,
    places: tl.constexpr,
    together: tl.constexpr,
):
    """One program: one search. Barriers, because all threads must read before any writes."""
    search = tl.program_id(0).to(tl.int64)
    base = search * beam
    was_over = tl.load(over + search) != 0
    last = tl.load(longest + search) <= length
    slot = tl.arange(0, places)
    rank = tl.arange(0, many)
    total = tl.load(totals + base + slot, mask=slot < beam, other=float("-inf"))
    each += base * width
    candidates += base * width
    totals += base
    best, spot, token = _candidates(each, candidates, totals, was_over, last, beam, width, kept, end, block, many)
    parent = spot // width
    written = tokens + base * room + 1

    # Hypotheses that END finishes are added to the finished ones.
    ends = token == end
    ending = tl.where(ends & (rank < beam), best, float("-inf"))
    scores += base
    log_probs += base
    text_lengths += base
    texts += base * text_room
    least, more = _finish(
        ending, parent, written, scores, log_probs, text_lengths, texts,
        length, divisor, room, text_room, beam, n_best, many, places, together,
    )  # fmt: skip
    number = tl.load(count + search) + more

    # The best of the others continue.
    goes = (ends == 0) & (last == 0) & (rank < kept) & ((best > float("-inf")) | (best != best))
    into = (tl.cumsum(goes.to(tl.int32), 0)[None, :] == slot[:, None] + 1) & goes[None, :]
    filled = tl.sum(into.to(tl.int32), 1) > 0
    going = tl.where(filled, tl.sum(tl.where(into, best[None, :], 0.0), 1), float("-inf"))
    follows = tl.sum(tl.where(into, parent[None, :], 0), 1)
    following = tl.sum(tl.where(into, token[None, :], 0), 1)

    # The same rules as in `SearchStepper.step`; the first of those that continue is the best.
    top = tl.sum(tl.where(slot == 0, going, 0.0), 0)
    enough = number >= beam
    is_over = was_over | (least >= tl.div_rn(top, tl.load(bound + search))) | enough | ((top > float("-inf")) == 0)
    is_broken = (tl.load(broken + search) != 0) | (top != top)
    grown = tl.load(lengths + search) + (is_over == 0).to(tl.int64)
    follows = tl.where(is_over, slot, follows)
    tl.debug_barrier()
    tl.store(over + search, is_over)
    tl.store(broken + search, is_broken)
    tl.store(count + search, number)
    tl.store(lengths + search, grown)
    tl.store(totals + slot, tl.where(is_over, total, going), mask=slot < beam)
    tl.store(rows + base + slot, base + follows, mask=slot < beam)
    if beam > 1:
        for first in range(0, length, together):
            position = first + tl.arange(0, together)[None, :]
            inside = (slot[:, None] < beam) & (position < length)
            moved = tl.load(written + follows[:, None] * room + position, mask=inside)
            tl.debug_barrier()
            tl.store(written + slot[:, None] * room + position, moved, mask=inside)
    tl.store(written + slot * room + length, following, mask=slot < beam)


@triton.jit
@no_type_check
def _candidates(
    each,
    candidates,
    totals,
    over,
    last,
    beam: tl.constexpr,
    width: tl.constexpr,
    kept: tl.constexpr,
    end: tl.constexpr,
    block: tl.constexpr,
    many: tl.constexpr,
):
    """The best continuations of a search, best first: their totals, indices among all, and tokens."""
    index = tl.arange(0, block)
    inside = index < beam * width
    token = tl.load(candidates + index, mask=inside, other=0)
    found = tl.load(each + index, mask=inside, other=float("-inf"))
    total = tl.load(totals + index // width, mask=inside, other=float("-inf"))
    finishes = (token == end) & (index % width < beam)
    held = total + tl.where(last & (finishes == 0), float("-inf"), found)
    # Nothing continues an empty beam slot, whatever the model computes for it.
    held = tl.where(inside & (over == 0) & (total != float("-inf")), held, float("-inf"))
    # NaN counts as the best.
    held = tl.where(held != held, float("inf"), held)
    rank = tl.arange(0, many)
    best = tl.full([many], float("-inf"), tl.float32)
    spot = tl.zeros([many], tl.int32)
    chosen = tl.zeros([many], tl.int64)
    for number in tl.static_range(kept):
        most, place = tl.max(held, 0, return_indices=True)
        here = rank == number
        best = tl.where(here, tl.where(most == float("inf"), float("nan"), most), best)
        spot = tl.where(here, place, spot)
        chosen = tl.where(here, tl.sum(tl.where(index == place, token, 0), 0), chosen)
        held = tl.where(index == place, float("-inf"), held)
    return best, spot, chosen


@triton.jit
@no_type_check
def _finish(
    ending,
    parent,
    written,
    scores,
    log_probs,
    lengths,
    texts,
    length,
    divisor,
    room,
    text_room,
    beam: tl.constexpr,
    n_best: tl.constexpr,
    many: tl.constexpr,
    places: tl.constexpr,
    together: tl.constexpr,
):
    """Inserts hypotheses that end into the sorted list of finished ones, behind those of equal scores; returns the
    score at rank `n_best`, and how many were added."""
    slot = tl.arange(0, places)
    rank = tl.arange(0, many)
    mine = slot < beam
    there = ending > float("-inf")
    new = tl.where(there, tl.div_rn(ending, divisor), float("-inf"))
    old = tl.load(scores + slot, mask=mine, other=float("-inf"))
    # New ranks of the old and of the new ones.
    behind = slot + tl.sum(((new[None, :] > old[:, None]) & there[None, :]).to(tl.int32), 1)
    before = (new[None, :] > new[:, None]) | ((new[None, :] == new[:, None]) & (rank[None, :] < rank[:, None]))
    better = (old[None, :] >= new[:, None]) & mine[None, :]
    ahead = tl.sum(before.to(tl.int32), 1) + tl.sum(better.to(tl.int32), 1)
    stays = mine & (behind < beam)
    comes = there & (ahead < beam)
    more = tl.sum(there.to(tl.int64), 0)
    if more > 0:
        old_log = tl.load(log_probs + slot, mask=mine, other=0.0)
        old_length = tl.load(lengths + slot, mask=mine, other=0)
        from_old = (behind[None, :] == slot[:, None]) & stays[None, :]
        source = tl.sum(tl.where(from_old, slot[None, :], 0), 1)
        kept = tl.sum(from_old.to(tl.int32), 1) > 0
        from_new = (ahead[None, :] == slot[:, None]) & comes[None, :]
        writer = tl.sum(tl.where(from_new, parent[None, :], 0), 1)
        tl.debug_barrier()
        tl.store(scores + behind, old, mask=stays)
        tl.store(log_probs + behind, old_log, mask=stays)
        tl.store(lengths + behind, old_length, mask=stays)
        tl.store(scores + ahead, new, mask=comes)
        tl.store(log_probs + ahead, ending, mask=comes)
        tl.store(lengths + ahead, tl.zeros([many], tl.int64) + length, mask=comes)
        for first in range(0, length, together):
            position = first + tl.arange(0, together)[None, :]
            inside = mine[:, None] & (position < length)
            text = tl.load(texts + source[:, None] * text_room + position, mask=inside & kept[:, None], other=0)
            text += tl.load(written + writer[:, None] * room + position, mask=inside & (kept[:, None] == 0), other=0)
            tl.debug_barrier()
            tl.store(texts + slot[:, None] * text_room + position, text, mask=inside)
    least = tl.sum(tl.where(mine & (behind == n_best - 1), old, 0.0), 0)
    return least + tl.sum(tl.where(there & (ahead == n_best - 1), new, 0.0), 0), more
