"""Masks against loops over positions."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import causal, combine, padding, window
from regard.attention.masks import same
from regard.errors import UsageError

sizes = st.integers(1, 6)


@given(sizes, st.integers(0, 5))
def test_causal_sees_itself_and_what_came_before(queries: int, offset: int) -> None:
    keys = queries + offset
    expected = [[k <= q for k in range(keys)] for q in range(offset, keys)]
    assert causal(queries, keys).tolist() == expected
    assert causal(queries, keys, offset).tolist() == expected


@given(sizes, sizes, st.integers(-3, 5), st.integers(0, 7), st.booleans())
def test_a_window_sees_size_positions_to_either_side_or_back(
    queries: int, keys: int, offset: int, size: int, back: bool
) -> None:
    ahead = 0 if back else size
    expected = [[q - size <= k <= q + ahead for k in range(keys)] for q in range(offset, offset + queries)]
    assert window(queries, keys, offset, size=size, causal=back).tolist() == expected


@given(sizes)
def test_a_window_as_wide_as_the_sequence_is_no_window(length: int) -> None:
    assert window(length, size=length).all()
    assert torch.equal(window(length, size=length, causal=True), causal(length))


def test_padding_is_the_same_for_every_head_and_query() -> None:
    keep = torch.tensor([[True, True, False], [True, False, False]])
    assert torch.equal(padding(keep).expand(2, 4, 5, 3), keep[:, None, None].repeat(1, 4, 5, 1))


@given(st.lists(st.integers(-1, 3), max_size=6), st.lists(st.integers(-1, 3), max_size=6))
def test_only_keys_with_the_number_of_the_query_are_seen(queries: list[int], keys: list[int]) -> None:
    mask = same(torch.tensor([queries], dtype=torch.int64), torch.tensor([keys], dtype=torch.int64))
    assert mask[0, 0].tolist() == [[query == key for key in keys] for query in queries]


def test_combined_masks_allow_what_all_allow() -> None:
    keep = torch.tensor([[True, True, False], [True, True, True]])
    combined = combine(padding(keep), None, causal(3), window(3, size=1))
    assert combined is not None
    for b in range(2):
        for q in range(3):
            for k in range(3):
                assert combined[b, 0, q, k] == (keep[b, k] and k <= q and q - k <= 1)


def test_nothing_combined_allows_everything() -> None:
    assert combine() is None
    assert combine(None, None) is None


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        window(3, size=-1)
    assert str(error.value) == ("size = -1 of a window is negative; give 0 (each position sees only itself) or more")
