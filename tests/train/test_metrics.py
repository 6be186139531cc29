"""`metrics.jsonl`."""

import json
import math
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.checkpoint import ModelFolder
from regard.errors import TrainingError
from regard.train import Saved, Started, Step, Validated
from regard.train.metrics import MetricsFile
from regard.train.throughput import Throughput


def step(
    number: int,
    *,
    loss: float = 1.0,
    count: int = 10,
    seconds: float = 0.0,
    skipped: bool = False,
    aside: float = 0.0,
) -> Step:
    return Step(number, loss, 0.5, 1e-3, count, 0, seconds, skipped, aside)


def started(number: int) -> Started:
    return Started(number, 1, "cpu", 1, "goes on")


def steps_in(folder: Path) -> list[tuple[str, int]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [(record["event"], record["step"]) for record in map(json.loads, lines)]


def test_numbers_that_json_does_not_know_become_null(tmp_path: Path) -> None:
    metrics = MetricsFile(ModelFolder(tmp_path), every=1)
    metrics(Validated(3, {"loss": math.nan, "bleu": math.inf}, False, 1.0))
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["metrics"] == {"loss": None, "bleu": None}


def test_without_a_record_of_the_save_later_steps_are_dropped(tmp_path: Path) -> None:
    metrics = MetricsFile(ModelFolder(tmp_path), every=1)
    for number in range(1, 6):
        metrics(step(number))
    MetricsFile(ModelFolder(tmp_path), every=1)(started(3))
    assert steps_in(tmp_path) == [("step", 1), ("step", 2), ("step", 3), ("started", 3)]


def test_what_happened_before_going_back_stays_on_record(tmp_path: Path) -> None:
    metrics = MetricsFile(ModelFolder(tmp_path), every=1)
    history = [step(1), step(2), step(1), Saved(1, tmp_path), step(2)]
    for event in history:
        metrics(event)
    MetricsFile(ModelFolder(tmp_path), every=1)(started(1))
    assert steps_in(tmp_path) == [("step", 1), ("step", 2), ("step", 1), ("saved", 1), ("started", 1)]


def test_a_disk_that_is_full_is_met_in_words(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"metrics.jsonl could not be written: No such file or directory"):
        MetricsFile(ModelFolder(tmp_path / "gone"), every=1)(step(1))


@given(st.lists(st.tuples(st.floats(0, 9), st.integers(1, 9), st.booleans()), min_size=1, max_size=9))
def test_a_summary_is_the_mean_over_the_targets_of_good_steps(given_steps: list[tuple[float, int, bool]]) -> None:
    pace = Throughput()
    for number, (loss, count, skipped) in enumerate(given_steps, start=1):
        pace.add(step(number, loss=math.nan if skipped else loss, count=count, skipped=skipped))
    summary = pace.sum_up()
    losses = [loss for loss, count, skipped in given_steps if not skipped for _ in range(count)]
    if losses:
        assert summary.loss == pytest.approx(sum(losses) / len(losses))
    else:
        assert math.isnan(summary.loss)
    assert summary.skipped == sum(skipped for *_, skipped in given_steps)


def test_the_pace_is_measured_between_the_ends_of_steps() -> None:
    pace = Throughput()
    for number in (1, 2, 3):
        pace.add(step(number, seconds=float(number)))
    assert pace.sum_up().targets_per_second == pytest.approx(10.0)
    pace.add(step(4, seconds=5.0))
    assert pace.sum_up().targets_per_second == pytest.approx(5.0)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=9), st.integers(1, 8))
def test_time_spent_aside_is_not_slowness(pauses: list[float], cut: int) -> None:
    """A run that stops for other things between its steps is as fast as one that does not."""
    steady, paused = Throughput(), Throughput()
    for number, aside in enumerate(accumulate(pauses), start=1):
        steady.add(step(number, seconds=float(number)))
        paused.add(step(number, seconds=number + aside, aside=aside))
        if number in (cut, len(pauses)):
            speed = steady.sum_up().targets_per_second
            assert paused.sum_up().targets_per_second == pytest.approx(speed)


def test_steps_are_summed_up_before_anything_else_is_told(tmp_path: Path) -> None:
    metrics = MetricsFile(ModelFolder(tmp_path), every=2)
    for event in [started(0), step(1), step(2), step(3), Validated(3, {}, False, 1.0), Saved(3, tmp_path)]:
        metrics(event)
    assert steps_in(tmp_path) == [("started", 0), ("step", 2), ("step", 3), ("validated", 3), ("saved", 3)]
