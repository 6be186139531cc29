"""On a CUDA device: a step never waits for the device, and steps are read late."""

from pathlib import Path

import pytest
import torch
from train_tasks import Classify, Points, recipe_for

from regard.checkpoint import ModelFolder, load_weights
from regard.data.batches import CorpusPosition
from regard.train import OPTIMIZERS, Ended, Step, train
from regard.train.learner import Learner
from regard.train.ranks import Ranks
from regard.train.runtime import Plan, precision

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_step_never_waits_for_the_device_and_bad_ones_are_skipped_there(kind: str, precision: str) -> None:
    optimizer = {"kind": kind, "weight_decay": 0.1, "momentum": 0.5 if kind == "sgd" else 0.0}
    task = Classify(recipe_for(optimizer=optimizer, average={"decay": 0.9}, precision=precision), carries=True)
    device = torch.device("cuda")
    learner = Learner(task, device, Ranks())
    good = task.batch_at(CorpusPosition()).to(device)
    bad = Points(good.features * torch.nan, good.classes)
    learner.runner.run([good], Plan(1, good.count, 0.1, False, 0.0), None)
    before = [tensor.clone() for tensor in learner.model.state_dict().values()]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        outcome, carry = learner.runner.run([good, bad], Plan(2, 2 * good.count, 0.1, False, 0.0), None)
        after = [tensor.clone() for tensor in learner.model.state_dict().values()]
        learner.runner.run([good, good], Plan(3, 2 * good.count, 0.1, False, 0.0), carry)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert outcome[-1].item() == 1
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))
    assert not torch.equal(learner.model.output.weight, after[-2])
    assert all(tensor.isfinite().all() for tensor in learner.used.state_dict().values())


def test_a_run_reads_its_steps_late_and_resumes_exactly(tmp_path: Path) -> None:
    """This model has no operation whose order of sums changes from run to run."""
    recipe = recipe_for(steps=27, validation={"every": 9}, log_every=50, average={"decay": 0.9})
    device = torch.device("cuda")
    for name, interrupted in {"whole": lambda: False, "pieces": lambda: True}.items():
        reason = ""
        steps: list[int] = []
        while reason != "steps":
            folder = ModelFolder(tmp_path / name)
            events = list(train(Classify(recipe), folder, device=device, interrupted=interrupted))
            assert isinstance(events[-1], Ended)
            reason = events[-1].reason
            steps += [event.step for event in events if isinstance(event, Step)]
        assert steps == list(range(1, 28))
    whole, pieces = load_weights(tmp_path / "whole", "current"), load_weights(tmp_path / "pieces", "current")
    assert all(torch.equal(whole[name], pieces[name]) for name in whole)


def test_precision_is_mixed_by_itself() -> None:
    for name, mixed in {"auto": True, "bfloat16": True, "float32": False}.items():
        with precision(recipe_for(precision=name).train, torch.device("cuda")):
            assert torch.is_autocast_enabled("cuda") == mixed
