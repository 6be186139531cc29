"""What is done beside the loop: in order, one thing at a time, and nothing that it raises is lost."""

from threading import Event

import pytest

from regard.train.beside import Beside


def test_the_caller_goes_on_and_waits_when_it_settles() -> None:
    may_end, done = Event(), []
    beside = Beside()

    def work() -> None:
        may_end.wait()
        done.append("work")

    beside.begin(work)
    beside.settle(wait=False)
    assert done == []
    may_end.set()
    beside.settle()
    assert done == ["work"]


def test_the_next_thing_begins_when_the_last_is_settled() -> None:
    done: list[int] = []
    beside = Beside()
    for number in range(20):
        beside.begin(lambda number=number: done.append(number))  # type: ignore[misc]
    beside.close()
    assert done == list(range(20))


@pytest.mark.parametrize("wait", [True, False])
def test_what_it_raises_is_raised_once_where_it_is_settled(wait: bool) -> None:
    beside = Beside()

    def work() -> None:
        raise OSError("the disk is full")

    def settle() -> None:
        while True:
            beside.settle(wait=wait)

    beside.begin(work)
    with pytest.raises(OSError, match="the disk is full"):
        settle()
    beside.settle()
    beside.begin(work)
    with pytest.raises(OSError, match="the disk is full"):
        beside.begin(lambda: None)
    beside.begin(work)
    beside.close()
