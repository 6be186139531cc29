"""A device whose memory is full: micro-batches are cut until they fit, and the gradient stays what it was."""

from pathlib import Path
from typing import Any

import pytest
import torch
from captured_tasks import outcomes, steps_of, translation
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from train_tasks import Classify, Points, recipe_for

from regard.checkpoint import ModelFolder
from regard.data.batches import CorpusPosition
from regard.errors import TrainingError
from regard.train import Ended, Noted, train
from regard.train.captured import CapturedRunner
from regard.train.learner import Learner
from regard.train.memory import Pieces, size_of
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

CPU = torch.device("cpu")


class Small(Classify):
    """A task on a device that holds so many rows at once; a larger batch fails in the backward pass, half done."""

    room = 100

    def objective(self, model: Any, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        loss, carry = super().objective(model, batch, carry)
        if len(batch.classes) > self.room:
            loss.register_hook(_full)
        return loss, carry


def _full(gradient: Tensor) -> Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def small(room: int, **options: Any) -> Small:
    task = Small(recipe_for(clip=0.0), dropout=0.0, dtype=torch.float64, **options)
    task.room = room
    return task


def points(rows: int) -> Points:
    features = torch.randn(rows, 4, generator=torch.Generator().manual_seed(rows), dtype=torch.float64)
    return Points(features, features[:, :3].argmax(-1))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(1, 9))
def test_cut_micro_batches_give_the_gradient_of_whole_ones(sizes: list[int], room: int) -> None:
    batches = [points(size) for size in sizes]
    plan = Plan(1, sum(sizes), 0.1, interrupted=False, seconds=0.0)
    found = {}
    for name, fits in {"whole": 100, "cut": room}.items():
        learner = Learner(small(fits), CPU, Ranks())
        outcome, _ = learner.runner.run(batches, plan, None)
        found[name] = torch.cat([outcome, learner.runner.gradients.everything])
        assert bool(learner.runner.news) == (fits < max(sizes))
    torch.testing.assert_close(found["cut"], found["whole"], rtol=1e-10, atol=1e-12)


def test_a_batch_whose_state_is_carried_on_is_not_cut() -> None:
    learner = Learner(small(3, carries=True), CPU, Ranks())
    plan = Plan(1, 8, 0.1, interrupted=False, seconds=0.0)
    with pytest.raises(torch.OutOfMemoryError, match="cannot be split"):
        learner.runner.run([points(8)], plan, None)
    carried = {"memory": torch.zeros(3, dtype=torch.float64)}
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        Learner(small(3, carries=True), CPU, Ranks()).runner.run([points(8)], plan, carried)


@given(st.integers(1, 40), st.integers(1, 40))
def test_pieces_have_every_row_once_and_fit(rows: int, room: int) -> None:
    pieces, batch = Pieces(), points(rows)
    assert pieces.of(batch) == [batch]
    cut = [batch]
    while any(len(piece.classes) > room for piece in cut):
        assert pieces.lower(next(piece for piece in cut if len(piece.classes) > room))
        cut = pieces.of(batch)
    joined = torch.cat([piece.features for piece in cut])
    assert torch.equal(joined[joined[:, 0].argsort()], batch.features[batch.features[:, 0].argsort()])
    assert sum(map(size_of, cut)) == size_of(batch)
    assert not pieces.lower(points(1))


def test_it_is_said_once_with_the_numbers() -> None:
    learner, batch = Learner(small(3), CPU, Ranks()), points(6)
    for step in (1, 2, 3):
        learner.runner.run([batch], Plan(step, 6, 0.1, interrupted=False, seconds=0.0), None)
    assert learner.runner.news == [
        "the device's memory does not hold a micro-batch with 6 targets at once (train.batch_tokens = 4096); "
        "from step 1 on such batches are split: the gradient is the same, but it takes longer"
    ]


def test_a_run_goes_on(tmp_path: Path) -> None:
    task = Small(recipe_for(steps=6), dropout=0.0)
    task.room = 2
    events = list(train(task, ModelFolder(tmp_path / "run"), device=CPU))
    assert isinstance(events[-1], Ended)
    assert events[-1].reason == "steps"
    notes = [event.message for event in events if isinstance(event, Noted)]
    assert notes
    assert all(note.startswith("the device's memory does not hold a micro-batch with ") for note in notes)


def test_a_single_row_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    task = Small(recipe_for(), dropout=0.0)
    task.room = 0
    with pytest.raises(TrainingError, match=r"step 1: the device's memory is full; train\.batch_tokens = 4096 is too"):
        list(train(task, ModelFolder(tmp_path / "run"), device=CPU))


def test_rows_that_carry_state_are_not_cut(tmp_path: Path) -> None:
    task = Small(recipe_for(), dropout=0.0, carries=True)
    learner = Learner(task, CPU, Ranks())
    batch, plan = task.batch_at(CorpusPosition()), Plan(1, 1, 0.1, interrupted=False, seconds=0.0)
    _, carry = learner.runner.run([batch], plan, None)
    task.room = 0
    with pytest.raises(torch.OutOfMemoryError):
        learner.runner.run([batch], plan, carry)


def test_a_capture_that_does_not_fit_is_given_up_for_halves() -> None:
    task = translation(batch_tokens=96)
    learner, whole = Learner(task, CPU, Ranks()), Learner(translation(), CPU, Ranks())
    attempts = []

    def capture(work: Any) -> Any:
        attempts.append(work)
        if len(attempts) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return work

    parts = task, learner.model, learner.optimizer, learner.average, CPU, Ranks()
    learner.runner = CapturedRunner(*parts, capture=capture)
    steps = steps_of(task, 10)
    found, expected = outcomes(learner, steps), outcomes(whole, steps)
    assert len(learner.runner.news) == 1
    assert "such batches are split" in learner.runner.news[0]
    assert learner.runner.sum_up()
    # Rows share no dropout: the losses are alike, not the same.
    assert all(abs(mine[0] - theirs[0]) < 0.5 for mine, theirs in zip(found, expected, strict=True))
