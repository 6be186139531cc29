"""Looking changes nothing, not looking costs nothing, callers do not meet, and what is told about taps is true."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.errors import UsageError
from regard.tap import Tap, intervene, name_axes, record, taps


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.output = Tap("row", "step")

    def forward(self, x: Tensor) -> Tensor:
        shown: Tensor = self.output(x + 1)
        return shown


class Model(nn.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def negative(x: Tensor) -> Tensor:
    return -x


def test_a_tap_gives_back_the_very_tensor() -> None:
    x = torch.zeros(2)
    assert Tap()(x) is x


def test_recording_shows_every_passage_in_order_and_changes_nothing() -> None:
    model = Model()
    with record(model) as seen:
        assert model(torch.zeros(1)) == 2
        assert model(torch.ones(1)) == 3
    assert [tensor.item() for tensor in seen["layers.0.output"]] == [1, 2]
    assert [tensor.item() for tensor in seen["layers.1.output"]] == [2, 3]
    assert seen.last("layers.1.output") == 3


def test_recorded_tensors_hold_no_graph() -> None:
    model = Model()
    with record(model) as seen:
        model(torch.zeros(1, requires_grad=True))
    assert not seen.last("layers.0.output").requires_grad


def test_after_the_block_nothing_is_watched_even_after_an_error() -> None:
    model = Model()
    with suppress(RuntimeError), record(model) as seen, intervene(model, "*", negative):
        assert all(tap.recorded and tap.intervened and tap.watched for tap in taps(model).values())
        raise RuntimeError
    assert not any(tap.recorded or tap.intervened or tap.watched for tap in taps(model).values())
    model(torch.zeros(1))
    assert seen == {"layers.0.output": [], "layers.1.output": []}


def test_nested_recordings_end_each_for_itself() -> None:
    model = Model()
    with record(model) as outer:
        with record(model) as inner:
            pass
        model(torch.zeros(1))
    assert len(outer["layers.0.output"]) == 1
    assert inner["layers.0.output"] == []


def test_interventions_apply_in_order_and_recordings_see_their_result() -> None:
    model = Model(1)
    with intervene(model, "*", negative), intervene(model, "*", lambda x: x + 10), record(model) as seen:
        assert model(torch.zeros(1)) == 9
    assert seen.last("layers.0.output") == 9
    assert model(torch.zeros(1)) == 1


def test_the_same_intervention_twice_is_undone_once_for_each_block() -> None:
    model = Model(1)
    with intervene(model, "*", negative), intervene(model, "*", lambda x: x + 10):
        with intervene(model, "*", negative):
            assert model(torch.zeros(1)) == -9
        assert model(torch.zeros(1)) == 9


@given(st.sets(st.integers(0, 4)))
def test_a_pattern_reaches_the_taps_it_names_and_no_others(chosen: set[int]) -> None:
    model = Model(5)
    pattern = f"layers.[{''.join(map(str, chosen))}].output" if chosen else "layers.?.output"
    assert set(taps(model, pattern)) == {f"layers.{i}.output" for i in chosen or range(5)}


def test_a_star_matches_dots() -> None:
    assert list(taps(Model(), "*output")) == ["layers.0.output", "layers.1.output"]


def test_a_pattern_without_match_is_told_the_nearest_taps() -> None:
    with pytest.raises(UsageError) as error, record(Model(), "layers.0.outputs"):
        pass
    assert str(error.value) == (
        "no tap matches 'layers.0.outputs'; this model has 'layers.0.output' or 'layers.1.output'"
    )


def test_a_model_without_taps_says_so() -> None:
    with pytest.raises(UsageError) as error:
        taps(nn.Linear(1, 1))
    assert str(error.value) == "no tap matches '*'; this model has none"


def test_an_intervention_that_changes_the_shape_is_refused() -> None:
    model = Model()
    with intervene(model, "*", lambda x: x[None]), pytest.raises(UsageError) as error:
        model(torch.zeros(3))
    assert str(error.value) == "an intervention must keep the shape: it was given (3,) and returned (1, 3)"
    with intervene(model, "*", lambda x: None), pytest.raises(UsageError) as error:  # type: ignore[arg-type]
        model(torch.zeros(3))
    assert str(error.value) == "an intervention must return a tensor, not None"


def test_an_intervention_keeps_the_number_format() -> None:
    model = Model()
    with intervene(model, "*", lambda x: x > 1):
        assert torch.equal(model(torch.tensor([0.0, 5.0], dtype=torch.float64)), torch.tensor([0.0, 1.0]).double())


def test_nothing_recorded_is_said_when_asked_for() -> None:
    with record(Model()) as seen:
        pass
    with pytest.raises(UsageError) as error:
        seen.last("layers.0.output")
    assert str(error.value) == "nothing passed the tap 'layers.0.output' while it was recorded"


def test_axes_are_named_by_the_innermost_module_that_knows() -> None:
    model = Model(2)
    name_axes(model.layers[0], step="source")
    name_axes(model, step="past", row="row")
    assert [tap.axes for tap in taps(model).values()] == [("row", "source"), ("row", "past")]


def seen_by(model: Model, start: float, wait: Callable[[], object]) -> list[float]:
    """What a caller sees who adds `start` to the first layer, while others call the same model."""
    wait()
    with intervene(model, "layers.0.*", lambda x: x + start), record(model) as seen:
        wait()
        result = model(torch.zeros(1)).item()
        wait()
        result += model(torch.ones(1)).item()
    wait()
    return [result, *(tensor.item() for name in seen for tensor in seen[name])]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=4))
def test_threads_see_what_they_see_alone(starts: list[int]) -> None:
    model, together = Model(), threading.Barrier(len(starts))
    alone = [seen_by(model, start, lambda: None) for start in starts]
    with ThreadPoolExecutor(len(starts)) as pool:
        found = list(pool.map(lambda start: seen_by(model, start, together.wait), starts))
    assert found == alone


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=4))
def test_async_tasks_see_what_they_see_alone(starts: list[int]) -> None:
    model = Model()

    async def look(start: int) -> list[float]:
        with intervene(model, "layers.0.*", lambda x: x + start), record(model) as seen:
            await asyncio.sleep(0)
            result = model(torch.zeros(1)).item()
            await asyncio.sleep(0)
            result += model(torch.ones(1)).item()
        return [result, *(tensor.item() for name in seen for tensor in seen[name])]

    async def all_of_them() -> list[list[float]]:
        return await asyncio.gather(*map(look, starts))

    assert asyncio.run(all_of_them()) == [seen_by(model, start, lambda: None) for start in starts]


def test_a_thread_without_the_context_sees_nothing_of_it() -> None:
    model, found = Model(), list[bool]()
    with record(model) as seen:
        thread = threading.Thread(
            target=lambda: found.extend([model.layers[0].output.watched, bool(model(torch.ones(1)))])
        )
        thread.start()
        thread.join()
    assert found == [False, True]
    assert not any(seen.values())


def test_a_block_that_ended_is_over_for_tasks_that_were_started_inside() -> None:
    model = Model()

    async def later(gate: asyncio.Event) -> bool:
        await gate.wait()
        model(torch.zeros(1))
        return any(tap.watched for tap in taps(model).values())

    async def main() -> tuple[bool, int]:
        gate = asyncio.Event()
        with record(model) as seen:
            task = asyncio.create_task(later(gate))
        gate.set()
        return await task, sum(map(len, seen.values()))

    assert asyncio.run(main()) == (False, 0)
