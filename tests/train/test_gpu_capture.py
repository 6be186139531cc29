"""On a CUDA device: captured steps give the bits of eager ones, and everything else works as it does without them."""

import gc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from captured_tasks import MODELS, assert_same_bits, outcomes, steps_of, translation
from torch import Tensor
from train_tasks import Classify, Points, recipe_for

from regard.checkpoint import ModelFolder, load_weights
from regard.data.batches import CorpusPosition
from regard.tap import record
from regard.tasks.translation import TranslationTask
from regard.train import OPTIMIZERS, Ended, Noted, train
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

CUDA = torch.device("cuda")


def learners(kind: str = "transformer", **train: Any) -> tuple[TranslationTask, Learner, Learner]:
    """A task and two learners of it: one that captures, one that does not."""
    task = translation(kind, **train)
    return task, Learner(task, CUDA, Ranks()), Learner(translation(kind, capture=False, **train), CUDA, Ranks())


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_captured_equals_eager_bit_for_bit(kind: str, precision: str, accumulate: int, optimizer: str) -> None:
    settings = {"kind": optimizer, "weight_decay": 0.1}
    task, captured, eager = learners(kind, precision=precision, accumulate=accumulate, optimizer=settings)
    steps = steps_of(task, 20)
    for one, other in zip(outcomes(captured, steps), outcomes(eager, steps), strict=True):
        assert torch.equal(one, other)
        assert one.isfinite().all()
    assert_same_bits(captured, eager)
    assert captured.runner.sum_up().startswith("2 shapes of batches captured as CUDA graphs, in ")
    assert captured.runner.news == []


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_frozen_parts_thaw_and_parts_have_rates_of_their_own_as_in_eager_steps(optimizer: str) -> None:
    settings = {"kind": optimizer, "weight_decay": 0.1, "part_rates": ["encoder=0.5", "decoder=0.25"]}
    start = {"model": "elsewhere", "parts": ["encoder"], "frozen_steps": 9}
    task, captured, eager = learners(optimizer=settings, start=start)
    steps = steps_of(task, 20)
    for one, other in zip(outcomes(captured, steps), outcomes(eager, steps), strict=True):
        assert torch.equal(one, other)
    assert_same_bits(captured, eager)
    assert "captured as CUDA graphs" in captured.runner.sum_up()  # those of steps after the thaw
    assert captured.runner.news == ["encoder begins to learn"]


@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
def test_a_captured_step_never_waits_for_the_device() -> None:
    task, captured, _ = learners(precision="bfloat16")
    steps = steps_of(task, 14)
    outcomes(captured, steps[:10])
    assert "captured as CUDA graphs" in captured.runner.sum_up()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        outcomes(captured, steps[10:])
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_non_finite_step_is_skipped_by_the_graph_itself() -> None:
    task = Classify(recipe_for(shapes=1, average={"decay": 0.9}), dropout=0.3)
    learner = Learner(task, CUDA, Ranks())
    good = task.batch_at(CorpusPosition())
    bad = Points(good.features * torch.nan, good.classes)
    found, weights = [], []
    for step, batch in enumerate([good, good, good, bad, good], start=1):
        found.append(learner.runner.run([batch], Plan(step, good.count, 0.1, False, 0.0), None)[0][-1].item())
        weights.append(learner.model.output.weight.detach().clone())
    assert learner.runner.sum_up().startswith("1 shape of batches")
    assert found == [0, 0, 0, 1, 0]
    assert [torch.equal(*pair) for pair in pairwise(weights)] == [False, False, True, False]
    assert all(tensor.isfinite().all() for tensor in learner.used.state_dict().values())


def test_a_recorded_step_leaves_the_graph_and_changes_nothing() -> None:
    task, captured, eager = learners(precision="bfloat16")
    steps = steps_of(task, 16)
    outcomes(eager, steps)
    outcomes(captured, steps[:10])
    with record(captured.model, "decoder.*.cross.weights") as seen:
        outcomes(captured, steps[10:12])
    assert {len(tensors) for tensors in seen.values()} == {2}
    assert captured.runner.news == ["while a tap is watched, steps are executed eagerly, not as captured CUDA graphs"]
    outcomes(captured, steps[12:])
    assert_same_bits(captured, eager)


def test_a_run_that_is_interrupted_at_every_reading_ends_in_the_same_bits(tmp_path: Path) -> None:
    task = translation(steps=40, log_every=5, validation={"every": 20}, precision="bfloat16")
    for name, interrupted in {"whole": lambda: False, "pieces": lambda: True}.items():
        ended = None
        while ended is None or ended.reason != "steps":
            events = list(train(task, ModelFolder(tmp_path / name), device=CUDA, interrupted=interrupted))
            ended = events[-1]
            assert isinstance(ended, Ended)
        if name == "whole":
            notes = [event.message for event in events if isinstance(event, Noted)]
            assert [note.partition(", in")[0] for note in notes] == ["2 shapes of batches captured as CUDA graphs"]
    whole, pieces = load_weights(tmp_path / "whole", "current"), load_weights(tmp_path / "pieces", "current")
    assert [name for name in whole if not torch.equal(whole[name], pieces[name])] == []


class Curious(TranslationTask):
    """Asks the device for a value in the middle of a step, which no graph can hold."""

    def objective(self, model: Any, batch: Any, carry: None) -> tuple[Tensor, None]:
        loss, carry = super().objective(model, batch, carry)
        assert loss.item() > 0
        return loss, carry


def test_what_cannot_be_captured_goes_on_eagerly_and_one_line_says_so() -> None:
    task, _, eager = learners()
    task.__class__ = Curious
    curious = Learner(task, CUDA, Ranks())
    steps = steps_of(task, 12)
    outcomes(eager, steps)
    outcomes(curious, steps)
    assert_same_bits(curious, eager)
    assert len(curious.runner.news) == 1
    assert curious.runner.news[0].startswith("steps are executed eagerly, not as captured CUDA graphs: ")
    # Others are captured as before.
    task, captured, eager = learners()
    outcomes(eager, steps)
    outcomes(captured, steps)
    assert_same_bits(captured, eager)
    assert captured.runner.sum_up()


class Hungry(Classify):
    """Needs 128 MiB for each row: much more than what other tests may leave behind, and let go of in the meantime."""

    def objective(self, model: Any, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        loss, carry = super().objective(model, batch, carry)
        return loss + 0 * torch.ones(len(batch.classes), 2**25, device=loss.device).sum(), carry


@pytest.mark.parametrize("shapes", [0, 1])
def test_batches_that_do_not_fit_are_done_in_halves(shapes: int) -> None:
    features = torch.randn(12, 4)
    batch, ends = Points(features, features[:, :3].argmax(-1)), []
    total = torch.cuda.get_device_properties(CUDA).total_memory
    for room in (0, 8):
        learner = Learner(Hungry(recipe_for(shapes=shapes), dropout=0.0), CUDA, Ranks())
        gc.collect()
        torch.cuda.empty_cache()
        if room:
            torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room * 2**27) / total)
        try:
            for step in range(1, 7):
                learner.runner.run([batch], Plan(step, batch.count, 0.1, False, 0.0), None)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        told = [line for line in learner.runner.news if "does not hold a micro-batch with 12 targets" in line]
        assert len(told) == bool(room)
        assert bool(learner.runner.sum_up()) == bool(shapes)
        ends.append(learner.model.output.weight.detach().clone())
    torch.testing.assert_close(*ends)


def test_graphs_give_their_memory_back_for_a_shape_that_is_new() -> None:
    features, room = torch.randn(12, 4), 2**27
    many = Points(features, features[:, :3].argmax(-1))
    few = many.rows(0, 2)
    recipe = recipe_for(shapes=1)
    # All that it says of such batches is that they have few shapes.
    packed = recipe.model_copy(update={"train": recipe.train.model_copy(update={"pack": True})})
    learner = Learner(Hungry(packed, dropout=0.0), CUDA, Ranks())
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    for step, batch in enumerate([many, many, many, few, many, few, many], start=1):
        learner.runner.run([batch], Plan(step, batch.count, 0.1, False, 0.0), None)
    assert learner.runner.sum_up().startswith("2 shapes of batches")
    assert 12 * room <= torch.cuda.max_memory_reserved() - before < 18 * room


def test_what_is_carried_goes_through_the_graphs() -> None:
    ends = []
    for capture in (True, False):
        task = Classify(recipe_for(shapes=1, capture=capture, compile=False), carries=True)
        learner, batch, carry = Learner(task, CUDA, Ranks()), task.batch_at(CorpusPosition()), None
        for step in range(1, 9):
            _, carry = learner.runner.run([batch, batch], Plan(step, 2 * batch.count, 0.1, False, 0.0), carry)
        assert carry is not None
        assert learner.runner.news == []
        ends.append((learner.model.output.weight.detach(), carry["memory"]))
        assert bool(learner.runner.sum_up()) == capture
    assert all(torch.equal(*both) for both in zip(*ends, strict=True))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_packed_batches_are_captured_too(precision: str) -> None:
    task, captured, eager = learners(precision=precision, pack=True, batch_tokens=256)
    steps = steps_of(task, 12)
    for one, other in zip(outcomes(captured, steps), outcomes(eager, steps), strict=True):
        assert torch.equal(one, other)
        assert one.isfinite().all()
    assert_same_bits(captured, eager)
    assert captured.runner.sum_up().startswith("1 shape of batches captured as CUDA graphs, in ")


def test_without_few_shapes_a_line_says_what_would_help() -> None:
    line = "steps are executed eagerly; with train.shapes (16, say) they are captured as CUDA graphs"
    assert Learner(translation(shapes=0), CUDA, Ranks()).runner.news == [line]


def test_a_longer_batch_does_not_spoil_the_tables_of_earlier_graphs() -> None:
    """Tables of positions that grow are other tensors; the old ones must stay where graphs look for them."""
    task, captured, eager = learners()
    steps = steps_of(task, 16)
    for learner in (captured, eager):
        outcomes(learner, steps[:8])
        table = learner.model.encoder.input.position.table
        table(torch.zeros(1, device=CUDA), 0, 5000)
        filler = [torch.full((256, 32), 7.0, device=CUDA) for _ in range(64)]
        outcomes(learner, steps[8:])
        assert len(filler) == 64
    assert_same_bits(captured, eager)
