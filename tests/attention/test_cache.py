"""Caches: what comes out is what went in, by rows, independent of copies, with gradients and without."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch
from attention_strategies import normal, seeds
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import KeyValueCache, Lineage, Memory, SharedCache, attend
from regard.attention import cache as cache_room
from regard.attention.cache import _select_in_place
from regard.attention.kv_memory import EMPTY, PART, ROOM, SHARE, allocate_positions, allocating_with
from regard.errors import UsageError

cuts = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def pieces(lengths: list[int], seed: int, grad: bool = False) -> list[tuple[Tensor, Tensor]]:
    return [
        (normal(3, 2, length, 4, seed=seed + i, grad=grad), normal(3, 1, length, 5, seed=seed - i - 1, grad=grad))
        for i, length in enumerate(lengths)
    ]


def joined(parts: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    return [torch.cat(tensors, dim=2) for tensors in zip(*parts, strict=True)]


@given(lengths=cuts, spare=st.integers(0, 3), seed=seeds, grad=st.booleans())
def test_a_cache_holds_all_pieces_in_order(lengths: list[int], spare: int, seed: int, grad: bool) -> None:
    parts = pieces(lengths, seed, grad)
    cache = KeyValueCache(sum(lengths) + spare)
    for i, part in enumerate(parts):
        so_far = cache.append(*part)
        torch.testing.assert_close(list(so_far), joined(parts[: i + 1]))
    assert cache.length == sum(lengths)


@given(lengths=cuts, rows=st.lists(st.integers(0, 2), min_size=1, max_size=5), seed=seeds, grad=st.booleans())
def test_selected_rows_go_on_as_if_they_had_always_been_there(
    lengths: list[int], rows: list[int], seed: int, grad: bool
) -> None:
    parts, chosen = pieces([*lengths, 2], seed, grad), torch.tensor(rows)
    cache = KeyValueCache(sum(lengths) + 2)
    for part in parts[:-1]:
        cache.append(*part)
    result = cache.select(chosen).append(*(tensor[chosen] for tensor in parts[-1]))
    torch.testing.assert_close(list(result), [tensor[chosen] for tensor in joined(parts)])


def test_a_copy_and_its_original_part_ways() -> None:
    first, left, right = pieces([2, 1, 1], seed=5)
    cache = KeyValueCache(3)
    cache.append(*first)
    branch = cache.copy()
    on_the_left = cache.append(*left)
    on_the_right = branch.append(*right)
    torch.testing.assert_close(list(on_the_left), joined([first, left]))
    torch.testing.assert_close(list(on_the_right), joined([first, right]))


def test_an_empty_cache_can_be_copied_and_selected() -> None:
    (first,) = pieces([2], seed=5)
    cache = KeyValueCache(2).copy().select(torch.tensor([2, 1, 0]))
    torch.testing.assert_close(list(cache.append(*first)), list(first))


@pytest.mark.parametrize("capacity", [3, 7])
def test_the_first_piece_is_not_copied(capacity: int) -> None:
    ((keys, values),) = pieces([3], seed=5)
    kept_keys, kept_values = KeyValueCache(capacity).append(keys, values)
    assert kept_keys.data_ptr() == keys.data_ptr()
    assert kept_values.data_ptr() == values.data_ptr()


def test_memory_is_taken_once() -> None:
    first, *others = pieces([1, 1, 2, 1], seed=5)
    cache = KeyValueCache(5)
    cache.append(*first)
    addresses = {cache.append(*part)[0].data_ptr() for part in others}
    assert len(addresses) == 1
    assert first[0].data_ptr() not in addresses


def test_gradients_flow_through_every_piece() -> None:
    parts = pieces([1, 2], seed=5, grad=True)
    cache = KeyValueCache(6)
    total = torch.zeros((), dtype=torch.float64)
    for part in parts:
        keys, values = cache.append(*part)
        total = total + keys.square().sum() + values.square().sum()
    total.backward()
    for place, part in enumerate(parts):
        for tensor in part:
            torch.testing.assert_close(tensor.grad, 2 * (2 - place) * tensor)


def test_after_gradients_decoding_goes_on_without() -> None:
    first, second = pieces([2, 1], seed=5, grad=True)
    cache = KeyValueCache(6)
    cache.append(*first)
    with torch.no_grad():
        torch.testing.assert_close(list(cache.append(*second)), joined([first, second]))


def test_more_positions_than_the_capacity_are_refused() -> None:
    first, second = pieces([3, 2], seed=5)
    cache = KeyValueCache(4)
    cache.append(*first)
    with pytest.raises(UsageError) as error:
        cache.append(*second)
    assert str(error.value) == ("a cache of capacity 4 cannot hold 5 positions; start with a capacity of at least 5")


def test_a_memory_is_selected_by_rows_and_never_written() -> None:
    memory = Memory(normal(3, 2, 4, 5), normal(3, 2, 4, 5, seed=1))
    rows = torch.tensor([2, 2, 0, 1])
    selected = memory.select(rows)
    assert torch.equal(selected.keys, memory.keys[rows])
    assert torch.equal(selected.values, memory.values[rows])
    assert memory.copy() is memory
    assert memory.put() is memory


def test_a_memory_in_a_place_of_its_own_is_written_over_and_its_copies_are_not() -> None:
    memory = Memory(normal(3, 2, 4, 5), normal(3, 1, 4, 6, seed=1))
    with allocating_with(lambda like, size: like.new_empty(size + 7)):
        placed = memory.put()
    assert torch.equal(placed.keys, memory.keys)
    assert torch.equal(placed.values, memory.values)
    address, copy = placed.keys.data_ptr(), placed.copy()
    rows = torch.tensor([2, 1])
    chosen = placed.select(rows)
    for one, other in ((chosen.keys, memory.keys), (chosen.values, memory.values)):
        assert torch.equal(one, other[rows])
    assert chosen.keys.data_ptr() == address
    assert torch.equal(copy.keys, memory.keys)
    assert torch.equal(copy.values, memory.values)
    assert not copy.is_placed


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 99), st.integers(1, 3))
def test_memory_that_is_there_in_any_case_is_used(room: int, further: int, spare: int, rows: int) -> None:
    with allocating_with(lambda like, size: like.new_empty(size + spare)):
        found = allocate_positions(torch.zeros(1), room, room + further, (rows, 2), (3,))
    assert found.shape == (rows, 2, found.shape[2], 3)
    whole = room + spare // (rows * 2 * 3)
    assert found.shape[2] == min(max(room, whole // PART * PART), room + further)
    assert allocate_positions(torch.zeros(1), room, room + further, (rows, 2), (3,)).shape == (rows, 2, room, 3)


def test_selections_take_turns_in_two_pieces_of_memory() -> None:
    first, second, third, fourth = pieces([1, 1, 1, 1], seed=5)
    cache = KeyValueCache(8)
    cache.append(*first)
    rows, addresses = torch.arange(len(first[0])).flip(0), []
    for part in (second, third, fourth):
        cache = cache.select(rows)
        addresses.append(cache.append(*part)[0].data_ptr())
    assert addresses[0] == addresses[2] != addresses[1]


in_parts = pytest.mark.parametrize("in_parts", [False, True], ids=["moved", "in parts"])
"""As caches grow on a CPU, and on a CUDA device."""


@contextmanager
def growing(in_parts: bool, *, quick: bool = False) -> Iterator[None]:
    """`quick` writes single positions as the kernel does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache_room, "grows_in_parts", lambda tensor: in_parts)
        if quick:
            patch.setattr(cache_room, "pick", one_position)
        yield


def one_position(operation: str, *tensors: Tensor) -> Callable[..., None] | None:
    return write if operation == "write_position" and tensors[0].shape[2] == 1 else None


def write(
    keys: Tensor, values: Tensor, kept_keys: Tensor, position: int, kept_values: Tensor, value_position: int
) -> None:
    for piece, kept, place in ((keys, kept_keys, position), (values, kept_values, value_position)):
        _, heads, _, width = piece.shape
        kept[:, :, place] = piece.reshape(-1, kept.shape[3], heads, width).transpose(1, 2)


def roomy(extra: int) -> AbstractContextManager[None]:
    """Memory is given of which there is more than is asked for."""
    return allocating_with(lambda like, size: like.new_empty(size + extra))


@in_parts
@example([1] * 20, 4, PART, True, 15 * PART, 0)  # there is room for more values than keys
@given(
    st.lists(st.integers(1, ROOM + 3), min_size=1, max_size=4) | st.lists(st.just(1), min_size=20, max_size=40),
    st.integers(0, ROOM),
    st.none() | st.integers(1, ROOM),
    st.booleans(),
    st.integers(0, 200),
    st.integers(0, 99),
)
def test_room_is_added_as_it_is_needed_and_rows_go_on(
    in_parts: bool, lengths: list[int], spare: int, expected: int | None, quick: bool, extra: int, seed: int
) -> None:
    parts = pieces(lengths, seed)
    cache, rows = KeyValueCache(sum(lengths) + spare, expected), torch.arange(len(parts[0][0])).flip(0)
    so_far: list[list[torch.Tensor]] = []
    with growing(in_parts, quick=quick), roomy(extra):
        for part in parts:
            so_far.append(list(part))
            found = cache.append(*part)
            torch.testing.assert_close(list(found), [torch.cat(side, 2) for side in zip(*so_far, strict=True)])
            cache, so_far = cache.select(rows), [[tensor[rows] for tensor in earlier] for earlier in so_far]


@given(st.integers(1, 300), st.integers(1, 100), st.integers(0, 40))
def test_parts_grow_a_little_at_a_time_and_stay_where_they_are(capacity: int, expected: int, spare: int) -> None:
    parts, made = EMPTY, list[int]()

    def make(room: int, most: int) -> Tensor:
        assert room <= most
        made.append(room)
        return torch.zeros(1, 1, room, 2)

    for end in range(1, capacity + 1):
        before = parts
        parts = parts if parts.room >= end else parts.extended(end, expected, capacity + spare, make)
        assert all(one is other for one, other in zip(parts.held, before.held, strict=False))
        parts.write(torch.full((1, 1, 1, 2), float(end)), end - 1)
        part, place = parts.place(end - 1)
        assert part[0, 0, place, 0] == end
        assert parts.filled(end)[0, 0, :, 0].tolist() == list(range(1, end + 1))
    assert sum(made) == parts.room <= capacity + spare
    first = min(-(-expected // PART) * PART, capacity + spare)
    assert made[0] == first
    # What was taken and is not needed is an eighth of what is, and a part, at most.
    assert parts.room <= max(capacity * (1 + 1 / SHARE) + PART, first)
    with pytest.raises(IndexError, match=rf"no part holds position {parts.room} of {parts.room}"):
        parts.place(parts.room)


@pytest.mark.spread(1)
@in_parts
@given(
    places=st.integers(2, 4),
    begun=st.integers(0, 2),
    steps=st.integers(1, ROOM + 2),
    groups=st.sampled_from([1, 2]),
    data=st.data(),
)
def test_what_hypotheses_share_is_what_each_would_have_copied(
    in_parts: bool, places: int, begun: int, steps: int, groups: int, data: st.DataObject
) -> None:
    """Two sources, perhaps with something read before the hypotheses part; one may leave on the way."""
    quick, extra = data.draw(st.booleans(), "quick"), data.draw(st.integers(0, 99), "extra")
    with growing(in_parts, quick=quick), roomy(extra):
        _share(places, begun, steps, groups, data)


def _share(places: int, begun: int, steps: int, groups: int, data: st.DataObject) -> None:
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99), "seed"))

    def piece(rows: int, heads: int, length: int, width: int) -> Tensor:
        return torch.randn(rows, heads, length, width, generator=generator, dtype=torch.double)

    sources, copied = 2, KeyValueCache(begun + steps, expected=3)
    if begun:
        copied.append(piece(2, groups, begun, 3), piece(2, groups, begun, 5))
    shared = SharedCache.of(copied, places)
    lineage = Lineage.own(2, places, shared.capacity, torch.device("cpu"))
    copied = copied.copy().select(torch.arange(2).repeat_interleave(places))
    for step in range(steps):
        query = piece(sources * places, 2, 1, 3)
        added = piece(sources * places, groups, 1, 3), piece(sources * places, groups, 1, 5)
        keys, values = shared.append(*added)
        folded, _ = attend(shared.fold(query), keys, values, bias=lineage.bias(shared.length, torch.double))
        own_keys, own_values = copied.append(*added)
        expected, _ = attend(query, own_keys, own_values)
        torch.testing.assert_close(shared.unfold(folded), expected)
        apart = shared.copy().apart(lineage)
        assert torch.equal(apart.keys.filled(shared.length), own_keys)
        assert torch.equal(apart.values.filled(shared.length), own_values)
        if sources == 2 and data.draw(st.integers(0, steps)) == step:
            stay = torch.tensor([data.draw(st.integers(0, 1))])
            shared, lineage, sources = shared.select(stay), lineage.select(stay), 1
            copied = copied.select(stay * places + torch.arange(places))
        drawn = [[data.draw(st.integers(0, places - 1)) for _ in range(places)] for _ in range(sources)]
        parents = torch.tensor(drawn)
        lineage = lineage.branch(parents, shared.length)
        copied = copied.select((parents + torch.arange(0, sources * places, places)[:, None]).flatten())


def test_what_is_written_stays_where_it_is() -> None:
    cache, lineage = SharedCache(8, places=2), Lineage.own(1, 2, 8, torch.device("cpu"))
    addresses = set()
    for _ in range(8):
        keys, _ = cache.append(normal(2, 1, 1, 4), normal(2, 1, 1, 4))
        lineage = lineage.branch(torch.tensor([[1, 1]]), cache.length)
        addresses.add(keys.data_ptr())
    assert len(addresses) == 1


def test_a_bias_is_spread_over_all_that_lies_in_a_shared_cache() -> None:
    cache = SharedCache(4, places=3)
    for_all = torch.tensor([[[1.0, 2.0]]])
    assert torch.equal(cache.spread(for_all), torch.tensor([[[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]]]))
    for_each = normal(6, 2, 1, 2)
    spread = cache.spread(for_each)
    assert spread.shape == (2, 2, 3, 6)
    assert torch.equal(spread[1, 0, 2], for_each[5, 0, 0].repeat_interleave(3))


def test_a_shared_cache_has_a_capacity_too() -> None:
    cache = SharedCache(1, places=2)
    cache.append(normal(2, 1, 1, 4), normal(2, 1, 1, 4))
    with pytest.raises(UsageError, match=r"^a cache of capacity 1 cannot hold 2 positions; start with a capacity of"):
        cache.append(normal(2, 1, 1, 4), normal(2, 1, 1, 4))


def test_where_nobody_knows_how_many_there_will_be_memory_does_not_grow_in_parts() -> None:
    with growing(in_parts=True):
        for expected, rooms in ((None, [ROOM]), (5, [PART, PART])):
            cache = KeyValueCache(100_000, expected)
            for _ in range(PART + 1):
                cache.append(normal(1, 1, 1, 2), normal(1, 1, 1, 2))
            assert [part.shape[2] for part in cache.keys.parts.held] == rooms


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.booleans())
def test_rows_are_chosen_within_their_memory(rows: list[int], moved: bool) -> None:
    kept = torch.arange(5 * 6, dtype=torch.float32).view(5, 2, 3)
    kept = kept.transpose(1, 2) if moved else kept
    expected = kept[rows]
    found = _select_in_place(kept, torch.tensor(rows))
    assert torch.equal(found, expected)
    assert found.data_ptr() == kept.data_ptr()
