"""Batches made ahead: the same items in the same order, and a thread that ends."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.prefetching import Prefetched


def threads() -> int:
    return sum(thread.name == "batches" for thread in threading.enumerate())


@given(st.lists(st.integers()), st.integers(1, 4))
def test_items_come_prepared_and_in_order(items: list[int], ahead: int) -> None:
    found = Prefetched(iter(items), lambda item: item + 1, ahead)
    assert list(found) == [item + 1 for item in items]
    assert list(found) == []
    found.close()
    assert threads() == 0


@given(st.integers(0, 6), st.integers(1, 4), st.integers(0, 6))
def test_no_more_is_made_ahead_than_there_is_room_for(taken: int, ahead: int, pause: int) -> None:
    made: list[int] = []
    reached = threading.Event()

    def items() -> Iterator[int]:
        for number in range(1000):
            made.append(number)
            # One more than there is room for is at hand, waiting to be put.
            if len(made) == taken + ahead + 1:
                reached.set()
            yield number

    found = Prefetched(items(), lambda item: item, ahead)
    assert [next(found) for _ in range(taken)] == list(range(taken))
    assert reached.wait(10)
    found.close()
    assert len(made) == taken + ahead + 1
    assert threads() == 0


@pytest.mark.parametrize("error", [ValueError("line 3 is broken"), KeyboardInterrupt()])
def test_what_goes_wrong_is_heard_of_after_what_went_well(error: BaseException) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise error

    found = Prefetched(items(), lambda item: item)
    assert next(found) == 1
    for _ in range(2):
        with pytest.raises(type(error)):
            next(found)
    found.close()


def test_a_preparation_that_fails_is_heard_of_too() -> None:
    found = Prefetched(iter([1, 0]), lambda item: 1 // item)
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_closed_it_gives_nothing() -> None:
    found = Prefetched(iter(range(9)), lambda item: item)
    found.close()
    assert list(found) == []
    found.close()
