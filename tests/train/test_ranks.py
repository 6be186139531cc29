"""Several processes train as one."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from train_processes import train_together
from train_tasks import Classify, Points, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint, load_weights
from regard.errors import UsageError
from regard.train import joined_ranks, run_task

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

RECIPE: dict[str, Any] = {"steps": 9, "accumulate": 2, "validation": {"every": 4}, "optimizer": {"rate": 0.05}}


def in_double(**train: Any) -> Classify:
    return Classify(recipe_for(**RECIPE | train), dropout=0.0, dtype=torch.float64)


def test_two_processes_train_the_model_that_one_trains(tmp_path: Path) -> None:
    assert train_together(tmp_path / "two", lambda: in_double(average={"decay": 0.9, "checkpoints": 2})) == [0, 0]
    one = in_double(average={"decay": 0.9, "checkpoints": 2})
    run_task(lambda *_: one, tmp_path / "one", reporter=lambda event: None)
    for which in ("current", "chosen"):
        alone, together = load_weights(tmp_path / "one", which), load_weights(tmp_path / "two", which)
        for name in alone:
            torch.testing.assert_close(together[name], alone[name], rtol=1e-9, atol=1e-11)


class StopsRankOne(Classify):
    """The second process is sent SIGTERM in the middle of the fifth step."""

    def objective(self, model: nn.Module, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        self.calls = getattr(self, "calls", 0) + 1
        if os.environ["RANK"] == "1" and self.calls == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().objective(model, batch, carry)


def test_all_stop_together_if_one_is_told_to_and_resume_to_the_same_bits(tmp_path: Path) -> None:
    recipe = recipe_for(**RECIPE | {"accumulate": 1})
    together = [tmp_path / "whole", tmp_path / "pieces"]
    assert train_together(together[0], lambda: Classify(recipe, carries=True)) == [0, 0]
    assert train_together(together[1], lambda: StopsRankOne(recipe, carries=True)) == [0, 0]
    stopped = ModelFolder(together[1]).current()
    # One more step begins before the others hear of it.
    assert stopped is not None
    assert load_checkpoint(ModelFolder(together[1]), stopped).progress.step < 9
    assert train_together(together[1], lambda: Classify(recipe, carries=True)) == [0, 0]
    ends = [load_checkpoint(ModelFolder(folder), "step-00000009") for folder in together]
    assert ends[0].carry is not None
    assert ends[1].carry is not None
    assert {name.split("/")[0] for name in ends[0].carry} == {"0", "1"}
    for one, other in ((ends[0].weights, ends[1].weights), (ends[0].carry, ends[1].carry)):
        assert all(torch.equal(one[name], other[name]) for name in one)


def refuse() -> Classify:
    raise UsageError("these data cannot be used")


def test_what_a_user_did_wrong_is_told_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert train_together(tmp_path, refuse) == [1, 2]
    told = capfd.readouterr().err
    assert told.count("UsageError: these data cannot be used") == told.count("Traceback") == 1


def test_one_process_needs_nobody() -> None:
    with joined_ranks(torch.device("cpu")) as (ranks, device):
        assert (ranks.rank, ranks.world, ranks.leads, device) == (0, 1, True, torch.device("cpu"))
        assert ranks.agree("word") == "word"
        assert ranks.gather("word") == ["word"]


@pytest.mark.parametrize(
    ("device", "says"),
    [
        ("mps", "several processes cannot train on 'mps'; set train.device to 'cpu' or 'cuda'"),
        ("cuda", "process 2 of this machine has no GPU of its own, there are 1; start as many"),
    ],
)
def test_processes_that_cannot_have_a_device_are_told_so(
    monkeypatch: pytest.MonkeyPatch, device: str, says: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UsageError, match=says), joined_ranks(torch.device(device)):
        pass
