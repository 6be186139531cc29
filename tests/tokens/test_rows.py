"""Rows in one array behave as lists of lists do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.tokens.rows import Rows

lists = st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=6)


@given(lists)
def test_rows_are_the_lists_they_were_made_of(rows: list[list[int]]) -> None:
    packed = Rows.packed([np.array(row, dtype=np.int32).tobytes() for row in rows])
    assert packed.lists() == Rows.of(rows).lists() == rows


@given(lists, lists)
def test_joined(first: list[list[int]], second: list[list[int]]) -> None:
    assert Rows.joined(Rows.of(first), Rows.of(second)).lists() == first + second


@given(lists)
def test_numbers_before_rows(rows: list[list[int]]) -> None:
    assert Rows.of(rows).after(range(len(rows))).lists() == [[number, *row] for number, row in enumerate(rows)]


@given(lists, st.lists(st.integers(0, 99)), st.integers(0, 6))
def test_picked(rows: list[list[int]], chosen: list[int], longest: int) -> None:
    chosen = [number % len(rows) for number in chosen]
    picked = Rows.of(rows).picked(np.array(chosen, dtype=np.int64), longest)
    assert picked.lists() == [rows[number][:longest] for number in chosen]
