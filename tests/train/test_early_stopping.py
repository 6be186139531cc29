"""What validations decide."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from train_tasks import recipe_for

from regard.checkpoint import Best, Progress
from regard.data.batches import CorpusPosition
from regard.train.early_stopping import judge, reason_to_end

values = st.lists(st.floats(-5, 5) | st.just(math.nan) | st.just(math.inf), max_size=12)


@given(values, st.sampled_from(["loss", "accuracy"]))
def test_the_best_is_the_best_finite_value_and_the_first_of_equals(given_values: list[float], metric: str) -> None:
    recipe, progress = recipe_for(validation={"metric": metric}), Progress()
    for step, value in enumerate(given_values):
        progress.step = step
        improved = judge(recipe, progress, {metric: value})
        assert improved == (progress.best == Best(value, step))
    finite = [value for value in given_values if math.isfinite(value)]
    if finite:
        best = min(finite) if metric == "loss" else max(finite)
        assert progress.best == Best(best, given_values.index(best))
        assert progress.stale == len(given_values) - 1 - given_values.index(best)
    else:
        assert progress.best is None


@pytest.mark.parametrize(("patience", "lowered_after"), [(0, [2, 3, 4]), (1, [2, 3, 4]), (2, [3])])
def test_the_plateau_is_lowered_when_its_patience_is_over(patience: int, lowered_after: list[int]) -> None:
    recipe = recipe_for(schedule={"kind": "plateau", "patience": patience})
    progress, seen = Progress(), []
    for validation, loss in enumerate([1.0, 2.0, 2.0, 2.0, 0.5], start=1):
        before = progress.lowerings
        judge(recipe, progress, {"loss": loss})
        if progress.lowerings > before:
            seen.append(validation)
    assert seen == lowered_after


def test_other_schedules_are_not_lowered() -> None:
    progress = Progress()
    for _ in range(9):
        judge(recipe_for(), progress, {"loss": 1.0})
    assert (progress.lowerings, progress.stale) == (0, 8)


def test_no_metrics_decide_nothing() -> None:
    progress = Progress()
    assert not judge(recipe_for(validation={"patience": 1}), progress, {})
    assert progress == Progress()


@pytest.mark.parametrize(
    ("train", "progress", "reason"),
    [
        ({"steps": 5}, Progress(step=4), None),
        ({"steps": 5}, Progress(step=5), "steps"),
        ({"steps": 0, "epochs": 2}, Progress(position=CorpusPosition(1, 9, 9)), None),
        ({"steps": 0, "epochs": 2}, Progress(position=CorpusPosition(2, 0, 0)), "epochs"),
        ({"steps": 0, "minutes": 0.5}, Progress(seconds=29.9), None),
        ({"steps": 0, "minutes": 0.5}, Progress(seconds=30.0), "minutes"),
        ({"validation": {"target": 0.5}}, Progress(best=Best(0.6, 1)), None),
        ({"validation": {"target": 0.5}}, Progress(best=Best(0.5, 1)), "target"),
        ({"validation": {"target": 0.5, "metric": "bleu"}}, Progress(best=Best(0.4, 1)), None),
        ({"validation": {"target": 0.5, "metric": "bleu"}}, Progress(best=Best(0.5, 1)), "target"),
        ({"validation": {"patience": 2}}, Progress(stale=1), None),
        ({"validation": {"patience": 2}}, Progress(stale=2), "patience"),
        ({"validation": {"patience": 0}}, Progress(stale=99), None),
    ],
)
def test_the_reason_to_end_is_a_function_of_the_progress(
    train: dict[str, Any], progress: Progress, reason: str | None
) -> None:
    assert reason_to_end(recipe_for(**train), progress) == reason
