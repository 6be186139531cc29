"""Captured steps, with a capture that only remembers what to do: when one is made, used and left."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from captured_tasks import MODELS, Remembered, assert_same_bits, learner_with, outcomes, state_of, steps_of, translation
from rich.console import Console
from torch import Tensor
from train_tasks import Classify, Points, recipe_for

from regard import models
from regard.checkpoint import Progress
from regard.data.batches import CorpusPosition
from regard.tap import record
from regard.train import Noted
from regard.train.captured import FEW, Work
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.report import LineReport
from regard.train.runners import why_eager
from regard.train.runtime import Plan

CPU = torch.device("cpu")


def test_every_kind_of_translator_is_among_them() -> None:
    assert {table.get("kind", name) for name, table in MODELS.items()} == set(models.MODELS)


@pytest.mark.spread(3)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("accumulate", [1, 2])
def test_captured_equals_eager(kind: str, accumulate: int) -> None:
    task, graphs = translation(kind, accumulate=accumulate), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    steps = steps_of(task, 12)
    for one, other in zip(outcomes(eager, steps), outcomes(captured, steps), strict=True):
        assert torch.equal(one, other)
    assert_same_bits(captured, eager)
    # Each of the two shapes and the update have been met once before they were captured.
    assert graphs.made == 3
    assert graphs.replayed == 12 * accumulate - 2 + 12 - 1
    assert captured.runner.sum_up() == "2 shapes of batches captured as CUDA graphs, in 0.0 s"
    assert eager.runner.sum_up() == ""


@pytest.mark.parametrize(("pack", "made"), [(False, 3), (True, 5)])
def test_graphs_of_packed_batches_make_room_for_a_shape_that_is_new(pack: bool, made: int) -> None:
    task, graphs = translation(pack=pack, shapes=1, batch_tokens=512), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    batch, _ = next(task.batches(CorpusPosition()))
    few = batch.rows(0, 2)
    chosen = [batch, batch, batch, few, batch, few, few, batch]
    steps = [([one], Plan(step, one.count, 1e-3, False, 0.0)) for step, one in enumerate(chosen, start=1)]
    found = zip(outcomes(eager, steps), outcomes(captured, steps), strict=True)
    assert all(torch.equal(one, other) for one, other in found)
    assert_same_bits(captured, eager)
    # Both shapes and the update; and where there was room to be made, what had been captured before once more.
    assert graphs.made == made
    assert captured.runner.sum_up() == "2 shapes of batches captured as CUDA graphs, in 0.0 s"


def test_room_that_is_made_within_a_step_costs_nothing_of_its_gradient() -> None:
    task, graphs = translation(pack=True, batch_tokens=512, accumulate=2), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    batch, _ = next(task.batches(CorpusPosition()))
    few = batch.rows(0, 2)
    chosen = [[batch, batch], [batch, batch], [batch, few], [few, batch], [batch, few]]
    plans = [Plan(step, sum(one.count for one in two), 1e-3, False, 0.0) for step, two in enumerate(chosen, start=1)]
    steps = list(zip(chosen, plans, strict=True))
    found = zip(outcomes(eager, steps), outcomes(captured, steps), strict=True)
    assert all(torch.equal(one, other) for one, other in found)
    assert_same_bits(captured, eager)
    # The first shape and the update twice, the other shape once.
    assert graphs.made == 5


def test_room_is_made_for_a_few_shapes_only() -> None:
    task, graphs = translation(pack=True, batch_tokens=16 * 128, pairs=2000), Remembered()
    captured = learner_with(task, graphs)
    batch, _ = next(task.batches(CorpusPosition()))
    shapes = [batch.map(lambda tensor, rows=rows: tensor[:rows]) for rows in range(1, 11)]
    for step, one in enumerate((one for shape in shapes for one in (shape, shape)), start=1):
        captured.runner.run([one], Plan(step, one.count, 1e-3, False, 0.0), None)
    # Each shape once, and the update once more for each time that room was made: not for the first shape.
    assert graphs.made == len(shapes) + 1 + (FEW - 1)


def test_a_watched_tap_is_shown_what_passes_and_the_graphs_are_used_again_afterwards() -> None:
    task, graphs = translation(), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    steps = steps_of(task, 12)
    outcomes(eager, steps)
    outcomes(captured, steps[:8])
    before = graphs.replayed
    with record(captured.model, "decoder.*.cross.weights") as seen:
        outcomes(captured, steps[8:10])
    assert graphs.replayed == before + 2  # updates, which no tap sees
    assert {len(tensors) for tensors in seen.values()} == {2}
    assert captured.runner.news == ["while a tap is watched, steps are executed eagerly, not as captured CUDA graphs"]
    outcomes(captured, steps[10:])
    assert graphs.replayed == before + 6
    assert_same_bits(captured, eager)


def test_a_capture_that_fails_is_not_tried_again_and_one_line_says_why() -> None:
    task, attempts = translation(), []

    def failing(work: Work) -> Work:
        attempts.append(work)
        raise RuntimeError("operation not permitted\nwhen stream is capturing")

    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, failing)
    steps = steps_of(task, 8)
    outcomes(eager, steps)
    outcomes(captured, steps)
    assert_same_bits(captured, eager)
    assert len(attempts) == 1
    reason = "operation not permitted"
    assert captured.runner.news == [f"steps are executed eagerly, not as captured CUDA graphs: {reason}"]
    assert captured.runner.sum_up() == ""


def test_an_optimizer_that_gets_another_state_is_captured_again() -> None:
    task, graphs = translation(), Remembered()
    captured = learner_with(task, graphs)
    steps = steps_of(task, 9)
    outcomes(captured, steps[:6])
    kept = captured.capture(Progress(step=6))
    kept = type(kept)(*(_copied(part) for part in (kept.weights, kept.optimizer, kept.average)), None, kept.progress)
    outcomes(captured, steps[6:])
    expected, made = state_of(captured), graphs.made
    captured.restore(kept, CHECKPOINT)
    outcomes(captured, steps[6:])
    assert graphs.made == made + 1
    assert all(torch.equal(expected[name], tensor) for name, tensor in state_of(captured).items())


CHECKPOINT: Any = "checkpoint"


def _copied(tensors: Mapping[str, Tensor] | None) -> Any:
    return tensors and {name: tensor.clone() for name, tensor in tensors.items()}


class Growing(Classify):
    """Carries more and more."""

    def objective(self, model: Any, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        loss, _ = super().objective(model, batch, None)
        return loss, {"all": torch.cat([*(carry or {}).values(), batch.features.mean(0)])[:12]}


def carried(learner: Learner, batch: Points, steps: int, accumulate: int = 1) -> list[Mapping[str, Tensor] | None]:
    found, carry = [], None
    for step in range(1, steps + 1):
        plan = Plan(step, accumulate * batch.count, 0.1, False, 0.0)
        _, carry = learner.runner.run([batch] * accumulate, plan, carry)
        found.append(carry)
    return found


@pytest.mark.parametrize("accumulate", [1, 2])
def test_what_is_carried_goes_through_the_graphs(accumulate: int) -> None:
    task, graphs = Classify(recipe_for(), carries=True), Remembered()
    eager, captured = Learner(task, CPU, Ranks()), learner_with(task, graphs)
    batch = task.batch_at(CorpusPosition())
    expected, found = (carried(learner, batch, 5, accumulate) for learner in (eager, captured))
    assert_same_bits(captured, eager)
    assert [list(carry or {}) for carry in found] == [["memory"]] * 5
    assert all(torch.equal(mine["memory"], theirs["memory"]) for mine, theirs in zip(found, expected, strict=True))
    # Before anything is carried it is another shape of batch: that happens once.
    assert graphs.made == 2
    assert graphs.replayed == 5 * accumulate - 2 + 5 - 1
    assert captured.runner.news == []


def test_a_run_that_goes_back_to_before_anything_was_carried_stays_captured() -> None:
    task, graphs = Classify(recipe_for(), carries=True), Remembered()
    captured, batch = learner_with(task, graphs), task.batch_at(CorpusPosition())
    for _ in range(3):
        carried(captured, batch, 4)
    assert captured.runner.news == []
    assert graphs.made == 2


def test_what_is_carried_must_keep_its_shape_to_be_captured() -> None:
    task = Growing(recipe_for())

    def capture(work: Work) -> Work:
        work()
        return work

    captured, batch = learner_with(task, capture), task.batch_at(CorpusPosition())
    carried(captured, batch, 2)
    captured.runner.learn(batch, {"all": torch.zeros(4)})
    assert captured.runner.news == [
        "steps are executed eagerly, not as captured CUDA graphs: "
        "the state carried over to the next batch changes its names or shapes"
    ]


def why(device: str, world: int = 1, **train: Any) -> str | None:
    return why_eager(recipe_for(**train).train, torch.device(device), Ranks(0, world))


def test_where_nothing_can_be_captured_one_line_says_why() -> None:
    line = "steps are executed eagerly, not as captured CUDA graphs: "
    assert why("cuda", shapes=2) is None
    assert why("cuda", world=2, shapes=2) == line + "there are several processes"
    assert why("mps", shapes=2) == line + "on mps there are none"
    advice = "steps are executed eagerly; with train.shapes (16, say) they are captured as CUDA graphs"
    assert why("cuda") == advice
    assert why("cpu") == ""
    assert why_eager(translation(shapes=0, pack=True).recipe.train, torch.device("cuda"), Ranks()) is None
    assert Learner(translation(), CPU, Ranks()).runner.news == [line + "on cpu there are none"]
    assert Learner(translation(capture=False), CPU, Ranks()).runner.news == []
    assert Learner(translation(shapes=0), CPU, Ranks()).runner.news == []


@pytest.mark.parametrize("pack", [False, True])
def test_pairs_of_a_batch_are_described_and_empty_rows_are_not(pack: bool) -> None:
    task, expected = translation(pairs=3, pack=pack), translation(pairs=3, shapes=0)
    batch, _ = next(task.batches(CorpusPosition()))
    assert len(batch.source.tokens) != len(batch.examples) == 3
    described, plain = (one.describe_batch(next(one.batches(CorpusPosition()))[0]) for one in (task, expected))
    assert sorted(described, key=lambda row: row["example"]) == sorted(plain, key=lambda row: row["example"])


def test_such_lines_are_told_with_their_step() -> None:
    console = Console(width=120)
    with console.capture() as told:
        LineReport(recipe_for().train, console)(Noted(7, "steps are executed in a line"))
    assert told.get() == "step 7: steps are executed in a line\n"
