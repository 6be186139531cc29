"""Caches: what comes out is what went in, by rows, independent of copies, with gradients and without."""

import pytest
import torch
from attention_strategies import normal, seeds
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import KeyValueCache, Memory
from regard.attention.cache import ROOM
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


def test_a_piece_that_fills_the_cache_is_not_copied() -> None:
    ((keys, values),) = pieces([3], seed=5)
    kept_keys, kept_values = KeyValueCache(3).append(keys, values)
    assert kept_keys.data_ptr() == keys.data_ptr()
    assert kept_values.data_ptr() == values.data_ptr()


def test_memory_is_taken_once() -> None:
    first, second, third = pieces([1, 2, 1], seed=5)
    cache = KeyValueCache(4)
    addresses = {cache.append(*part)[0].data_ptr() for part in (first, second, third)}
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
    assert str(error.value) == (
        "a cache of capacity 4 cannot hold 5 positions; start with a capacity of at least 5"
    )


def test_a_memory_is_selected_by_rows_and_never_written() -> None:
    memory = Memory(normal(3, 2, 4, 5), normal(3, 2, 4, 5, seed=1))
    rows = torch.tensor([2, 2, 0, 1])
    selected = memory.select(rows)
    assert torch.equal(selected.keys, memory.keys[rows])
    assert torch.equal(selected.values, memory.values[rows])
    assert memory.copy() is memory


def test_selections_take_turns_in_two_pieces_of_memory() -> None:
    first, second, third, fourth = pieces([1, 1, 1, 1], seed=5)
    cache = KeyValueCache(8)
    cache.append(*first)
    rows, addresses = torch.arange(len(first[0])).flip(0), []
    for part in (second, third, fourth):
        cache = cache.select(rows)
        addresses.append(cache.append(*part)[0].data_ptr())
    assert addresses[0] == addresses[2] != addresses[1]


@given(st.lists(st.integers(1, ROOM + 3), min_size=1, max_size=4), st.integers(0, ROOM), st.integers(0, 99))
def test_room_is_added_as_it_is_needed_and_rows_go_on(lengths: list[int], spare: int, seed: int) -> None:
    parts = pieces(lengths, seed)
    cache, rows = KeyValueCache(sum(lengths) + spare), torch.arange(len(parts[0][0])).flip(0)
    so_far: list[list[torch.Tensor]] = []
    for part in parts:
        so_far.append(list(part))
        found = cache.append(*part)
        torch.testing.assert_close(list(found), [torch.cat(side, 2) for side in zip(*so_far, strict=True)])
        cache, so_far = cache.select(rows), [[tensor[rows] for tensor in earlier] for earlier in so_far]
