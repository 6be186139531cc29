"""Killed at any moment, training resumes and ends in the same bits; asked to stop, it saves and leaves."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
import torch
from train_processes import begin, train_in
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder, find_checkpoint, load_checkpoint, load_weights
from regard.train import loop
from regard.train.signals import asked_to_stop

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def task() -> Classify:
    return Classify(
        recipe_for(
            steps=200,
            accumulate=2,
            average={"decay": 0.99, "checkpoints": 2},
            optimizer={"rate": 0.02},
            validation={"every": 7, "metric": "accuracy"},
            keep=1,
        ),
        carries=True,
    )


def train_to_the_end(folder: Path) -> None:
    process = begin(train_in, folder, task)
    process.join(timeout=60)
    assert process.exitcode == 0


@pytest.mark.spread(1)
@pytest.mark.parametrize("beside", [False, True], ids=["between steps", "beside them"])
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.long)])
def test_killed_at_random_moments_it_ends_in_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int, beside: bool
) -> None:
    train_to_the_end(tmp_path / "whole")
    monkeypatch.setattr(loop, "saves_in_background", lambda device: beside)
    draw, folder = random.Random(kills), tmp_path / "pieces"
    for _ in range(kills):
        process = begin(train_in, folder, task)
        time.sleep(draw.uniform(0.0, 0.25))
        process.kill()
        process.join(timeout=60)
        if folder.exists() and ModelFolder(folder).chosen():
            assert all(tensor.isfinite().all() for tensor in load_weights(folder).values())
    train_to_the_end(folder)
    for which in ("current", "chosen"):
        whole, pieces = load_weights(tmp_path / "whole", which), load_weights(folder, which)
        assert all(torch.equal(whole[name], pieces[name]) for name in whole)
    assert [path.name for path in (folder / "checkpoints").iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_saves_and_leaves(tmp_path: Path, number: signal.Signals) -> None:
    process = begin(train_in, tmp_path, task)
    while not (tmp_path / "current").exists():
        time.sleep(0.005)
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(timeout=60)
    assert process.exitcode == 0
    name, complaints = find_checkpoint(ModelFolder(tmp_path))
    assert name is not None
    assert complaints == []
    assert load_checkpoint(ModelFolder(tmp_path), name).progress.step < 200
    assert '"reason": "interrupted"' in (tmp_path / "metrics.jsonl").read_text().splitlines()[-1]


def test_the_second_ctrl_c_leaves_at_once_and_handlers_are_given_back(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with asked_to_stop() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert stop()
        assert capfd.readouterr().err == "stopping after this step; again to leave at once\n"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_there_are_no_signals() -> None:
    from threading import Thread

    seen = []

    def look() -> None:
        with asked_to_stop() as stop:
            seen.append(stop())

    thread = Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [False]
