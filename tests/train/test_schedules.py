"""Schedules against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train_tasks import PASS, Classify, recipe_for

from regard.checkpoint import Progress
from regard.data.batches import CorpusPosition
from regard.recipe import Schedule, names
from regard.train.schedules import SCHEDULES, Moment, count_pass, horizon, needs_count, rate_of, share_of_peak

steps, warmups = st.integers(1, 10**6), st.integers(0, 10**4)
kinds = st.sampled_from(sorted(SCHEDULES))


@given(kinds, steps, warmups, st.integers(1, 10**6), st.integers(0, 9), st.floats(0, 0.99))
def test_the_rate_is_never_above_its_peak_nor_below_zero(
    kind: str, step: int, warmup: int, end: int, lowerings: int, floor: float
) -> None:
    has_floor = kind in names.SCHEDULES.using("floor")
    schedule = Schedule.model_validate({"kind": kind, "warmup": warmup, **({"floor": floor} if has_floor else {})})
    share = share_of_peak(schedule, Moment(step, end, lowerings))
    assert 0 <= share <= 1
    if step >= warmup and has_floor:
        assert share >= floor * (1 - 1e-12)


@given(kinds, warmups.filter(bool), st.data())
def test_the_warm_up_rises_linearly_to_the_peak(kind: str, warmup: int, data: st.DataObject) -> None:
    schedule = Schedule.model_validate({"kind": kind, "warmup": warmup})
    step = data.draw(st.integers(1, warmup))
    assert share_of_peak(schedule, Moment(step, horizon=2 * warmup)) == pytest.approx(step / warmup)


@given(steps, warmups)
def test_inverse_square_root_is_that_of_vaswani_et_al(step: int, warmup: int) -> None:
    schedule = Schedule(kind="inverse_square_root", warmup=warmup)
    published = min(step**-0.5, step * max(warmup, 1) ** -1.5) * max(warmup, 1) ** 0.5
    assert share_of_peak(schedule, Moment(step)) == pytest.approx(published)


@given(st.integers(0, 100), st.integers(0, 100), st.floats(0, 0.9))
def test_cosine_falls_from_the_peak_to_the_floor(warmup: int, length: int, floor: float) -> None:
    schedule = Schedule(kind="cosine", warmup=warmup, floor=floor)
    end = warmup + 2 * length + 2
    shares = [share_of_peak(schedule, Moment(step, end)) for step in range(max(warmup, 1), end + 1)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == pytest.approx(floor)
    assert share_of_peak(schedule, Moment(warmup + length + 1, end)) == pytest.approx((1 + floor) / 2)
    assert share_of_peak(schedule, Moment(10 * end, end)) == pytest.approx(floor)


def test_plateau_is_lowered_by_its_factor() -> None:
    schedule = Schedule(kind="plateau", warmup=0, factor=0.5, floor=0.2)
    assert [share_of_peak(schedule, Moment(9, lowerings=times)) for times in range(4)] == [1.0, 0.5, 0.25, 0.2]


@given(kinds, st.integers(-5, 500))
def test_a_rate_is_a_function_of_the_progress(kind: str, factor: int) -> None:
    settings = recipe_for(schedule={"kind": kind, "warmup": 3}, optimizer={"rate": 0.5}).train
    whole = rate_of(settings, Progress(step=7))
    assert rate_of(settings, Progress(step=7, rate_factor=0.25)) == pytest.approx(whole / 4)


def test_a_pass_is_counted_and_cosine_ends_with_the_first_limit() -> None:
    task = Classify(recipe_for(epochs=3, steps=0, accumulate=2, schedule={"kind": "cosine"}))
    assert needs_count(task.recipe.train)
    assert count_pass(task.batches(CorpusPosition())) == PASS
    assert horizon(task.recipe.train, PASS) == math.ceil(3 * PASS / 2)
    both = recipe_for(epochs=3, steps=4, accumulate=2, schedule={"kind": "cosine"}).train
    assert horizon(both, PASS) == 4
    assert not needs_count(recipe_for(steps=9, schedule={"kind": "cosine"}).train)
    assert not needs_count(recipe_for(epochs=2).train)
