"""Captures and garbage: graphs that nobody needs any more must not be destroyed while another is captured."""

import gc
from collections.abc import Iterator

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
    """Whoever enters and leaves, in any order: threads capture at the same time."""
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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_graph_in_the_garbage_outlives_the_capture_of_another() -> None:
    device = torch.device("cuda")
    numbers, ends = torch.zeros(4, device=device), []
    graphs = CudaGraphs(device)

    class Holder:
        def __init__(self) -> None:
            self.replay, self.itself = graphs(lambda: numbers.add_(1)), self

        def __del__(self) -> None:
            ends.append(torch.cuda.is_current_stream_capturing())

    def litter() -> None:
        assert not ends, "it is there still"
        numbers.mul_(2)
        for _ in range(100_000):
            cycle: list[object] = []
            cycle.append(cycle)

    gc.collect()
    gc.disable()
    Holder()
    gc.enable()
    graphs(litter)
    gc.collect()
    assert ends == [False]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_graphs_are_made_again_when_all_that_were_made_are_gone() -> None:
    device = torch.device("cuda")
    graphs, kept = CudaGraphs(device), []
    for time in range(3):
        numbers = torch.zeros(4, device=device)
        # What is kept of a capture keeps its memory from being taken back.
        replays = [graphs(lambda numbers=numbers: kept.append(numbers.add_(1).clone())) for _ in range(2)]
        for replay in replays:
            replay()
        assert numbers.tolist() == [2] * 4, time
        del replays, replay
        gc.collect()
        torch.cuda.empty_cache()
