"""Captures and garbage: unused graphs must not be destroyed while another is captured."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from types import SimpleNamespace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from regard.graphs import CudaGraphs, GcPaused


@pytest.fixture(autouse=True)
def _collected_as_before() -> Iterator[None]:
    yield
    gc.enable()


@given(moves=st.lists(st.booleans()), collected=st.booleans())
def test_garbage_is_left_alone_while_anyone_is_within(moves: list[bool], collected: bool) -> None:
    """Captures may overlap in any order: threads capture at the same time."""
    gc.enable() if collected else gc.disable()
    hold, within = GcPaused(), 0
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
    with pytest.raises(ValueError, match="this"), GcPaused():
        raise ValueError("this")
    assert gc.isenabled()


class Pools:
    """A stub of torch's CUDA for captures: a pool is gone, and must not be used, once no graph uses it; and torch does
    not tell its allocators of failed captures, after which that of pinned memory never begins with such a pool."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.users: dict[int, int] = {}
        self.underway: set[int] = set()
        self.spoilt: set[int] = set()
        self.collected: list[bool] = []
        pools = self

        class Graph:
            pool: int | None = None

            def replay(self) -> None: ...

            def __del__(self) -> None:
                if self.pool is not None:
                    pools.release(self.pool)

        @contextmanager
        def graph(graph: Graph, pool: int, stream: object, capture_error_mode: str) -> Iterator[None]:
            if pools.users.get(pool) == 0:
                raise RuntimeError("use_count > 0 INTERNAL ASSERT FAILED")
            if pool in pools.spoilt:
                raise RuntimeError("already recording to mempool_id")
            pools.users[pool] = pools.users.get(pool, 0) + 1
            pools.underway.add(pool)
            pools.collected.append(gc.isenabled())
            try:
                yield
            except SpoiltError:
                pools.spoilt.add(pool)
                raise  # ending the capture fails, and with it what would have followed
            except RuntimeError:
                pools.end(pool)
                graph.pool = pool
                raise
            pools.end(pool)
            graph.pool = pool

        class Generator(SimpleNamespace):
            def manual_seed(self, seed: int) -> "Generator":
                return self

        same = {"set_offset": lambda offset: None, "graphsafe_get_state": lambda: None}
        monkeypatch.setattr(torch, "Generator", lambda device: Generator(**same))
        monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda device, pool: pools.end(pool))
        monkeypatch.setattr(torch._C, "_cuda_releasePool", lambda device, pool: pools.release(pool))
        generator = Generator(initial_seed=lambda: 1, get_offset=lambda: 0, graphsafe_set_state=lambda state: None)
        numbers = count(1)
        for name, fake in {
            "current_device": lambda: 0,
            "Stream": lambda device: None,
            "graph_pool_handle": lambda: next(numbers),
            "CUDAGraph": Graph,
            "graph": graph,
            "default_generators": [generator],
            "stream": lambda stream: nullcontext(),
            "current_stream": lambda device: None,
        }.items():
            monkeypatch.setattr(torch.cuda, name, fake)

    def end(self, pool: int) -> None:
        if pool not in self.underway:
            raise RuntimeError("not currently recording")
        self.underway.remove(pool)

    def release(self, pool: int) -> None:
        self.users[pool] -= 1


class SpoiltError(RuntimeError):
    """Of work that spoils its capture."""


def fails_by(error: type[RuntimeError]) -> None:
    raise error


@example(["make", "fail", "make"])
@given(moves=st.lists(st.sampled_from(["make", "fail", "spoil", "drop one", "drop all"])))
def test_graphs_share_a_pool_as_long_as_there_are_any(moves: list[str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        pools, replays = Pools(monkeypatch), []
        graphs = CudaGraphs(torch.device("cuda"))
        for move in moves:
            if move == "make":
                replays.append(graphs(lambda: None))
            elif move.startswith("drop"):
                del replays[: len(replays) if move == "drop all" else 1]
            else:
                with pytest.raises(RuntimeError):
                    graphs(lambda error=SpoiltError if move == "spoil" else RuntimeError: fails_by(error))
                gc.collect()  # what the error's frames hold
            assert not pools.underway
            assert sum(pools.users.values()) == len(replays)
            assert sum(users > 0 for users in pools.users.values()) <= bool(replays) + len(pools.spoilt)
        assert not any(pools.collected), "garbage was left alone"
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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_workspaces_keep_no_memory_of_a_graph_that_is_gone() -> None:
    device = torch.device("cuda")
    graphs = CudaGraphs(device)
    graphs.allocate_workspaces()
    matrix = torch.eye(64, device=device, requires_grad=True)

    def work() -> None:
        large = torch.ones(2**26, device=device).sum()
        torch.autograd.grad((matrix @ matrix).sum() * large, matrix)

    def reserved() -> int:
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    before = reserved()
    replay = graphs(work)
    replay()
    torch.cuda.synchronize()
    assert reserved() >= before + 2**28
    del replay
    assert reserved() < before + 2**25


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_after_a_capture_that_failed_memory_is_given_back_as_before() -> None:
    device = torch.device("cuda")
    graphs = CudaGraphs(device)

    def reserved() -> int:
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    def curious() -> None:
        torch.ones(2**26, device=device).sum().item()

    numbers = torch.zeros(4, device=device)
    first = graphs(lambda: numbers.add_(1))
    before, small = reserved(), 2**25
    with pytest.raises(RuntimeError, match="captur"):
        graphs(curious)
    # What was taken by then stays with the graphs that share its pool, and goes with them.
    failed = reserved()
    assert failed < before + 2**28 + small
    torch.empty(2**28, device=device)
    assert reserved() < failed + small
    second = graphs(lambda: numbers.mul_(2))
    first()
    second()
    assert numbers.tolist() == [2] * 4
    del first
    assert reserved() < before + small
