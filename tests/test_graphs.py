"""Captures and garbage: graphs that nobody needs any more must not be destroyed while another is captured."""

import gc
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.graphs import CudaGraphs, NoCollection


@pytest.fixture(autouse=True)
def _collected_as_before() -> Iterator[None]:
    yield
    gc.enable()


@given(moves=st.lists(st.booleans()), collected=st.booleans())
def test_garbage_is_left_alone_while_anyone_is_within(moves: list[bool], collected: bool) -> None:
    """Whoever enters and leaves, in any order."""
    gc.enable() if collected else gc.disable()
    hold, within = NoCollection(), 0
    for enters in [*moves, *[False] * len(moves)]:
        if enters:
            hold.__enter__()
            within += 1
        elif within:
            hold.__exit__()
            within -= 1
        assert gc.isenabled() == (collected and not within)
    assert gc.isenabled() == collected


def test_an_error_within_changes_nothing_about_that() -> None:
    with pytest.raises(ValueError, match="this"), NoCollection():
        raise ValueError("this")
    assert gc.isenabled()


def test_threads_that_enter_and_leave_at_once() -> None:
    hold, together, found = NoCollection(), Barrier(4), []

    def enter_often() -> None:
        together.wait()
        for _ in range(500):
            with hold:
                found.append(gc.isenabled())

    threads = [Thread(target=enter_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2000
    assert not any(found)
    assert gc.isenabled()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_graph_in_the_garbage_outlives_the_capture_of_another() -> None:
    device = torch.device("cuda")
    numbers, deleted = torch.zeros(4, device=device), []

    class Holder:
        def __init__(self) -> None:
            self.replay, self.itself = CudaGraphs(device)(lambda: numbers.add_(1)), self

        def __del__(self) -> None:
            deleted.append(capturing)

    def litter() -> None:
        numbers.mul_(2)
        for _ in range(100_000):
            cycle: list[object] = []
            cycle.append(cycle)

    capturing = False
    Holder()
    capturing = True
    CudaGraphs(device)(litter)
    capturing = False
    gc.collect()
    assert deleted == [False]
