"""Checkpoints that are written beside the loop: whole before anything builds on them, and no error of them is lost."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint
from regard.errors import TrainingError
from regard.train import Ended, Event, Noted, Saved, Started, Step, Validated, run_task, train
from regard.train.beside import Beside

SECONDS = 10.0
"""More than anything here takes; what would hang fails after them."""


def settled_in_time(beside: Beside, *, wait: bool) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        beside.settle(wait=wait)


def test_the_caller_goes_on_and_waits_when_it_settles() -> None:
    may_end, done = Flag(), []
    beside = Beside()

    def work() -> None:
        may_end.wait(SECONDS)
        done.append("work")

    beside.begin(work)
    beside.settle(wait=False)
    assert done == []
    may_end.set()
    beside.settle()
    assert done == ["work"]


def test_the_next_thing_is_not_begun_before_the_last_has_ended() -> None:
    done: list[str] = []
    beside = Beside()

    def slow() -> None:
        time.sleep(0.05)
        done.append("first")

    beside.begin(slow)
    beside.begin(lambda: None)
    assert done == ["first"]


@pytest.mark.parametrize("wait", [True, False])
def test_what_it_raises_is_raised_once_where_it_is_settled(wait: bool) -> None:
    beside = Beside()

    def work() -> None:
        raise OSError("the disk is full")

    beside.begin(work)
    with pytest.raises(OSError, match="the disk is full"):
        settled_in_time(beside, wait=wait)
    beside.settle()
    beside.begin(work)
    with pytest.raises(OSError, match="the disk is full"):
        beside.begin(lambda: None)
    beside.begin(work)
    with pytest.raises(OSError, match="the disk is full"):
        beside.close()


def small(**train: Any) -> Classify:
    return Classify(recipe_for(**{"steps": 12, "validation": {"every": 4}, "average": {"checkpoints": 2}} | train))


def unfinished(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder / "checkpoints") if name.startswith(".")]


def writers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("beside")]


@pytest.mark.usefixtures("slow_disk")
def test_steps_go_on_meanwhile_and_whatever_else_comes_finds_it_on_disk(tmp_path: Path) -> None:
    folder, ahead, saved = ModelFolder(tmp_path), 0, ""
    for event in train(small(), folder):
        if isinstance(event, Step | Noted):
            ahead += folder.current() != saved
        elif not isinstance(event, Saved | Started):
            assert folder.current() == saved
            assert unfinished(tmp_path) == []
        if isinstance(event, Saved):
            saved = event.path.name
    assert ahead


@pytest.mark.usefixtures("slow_disk")
def test_a_run_that_is_abandoned_leaves_a_whole_checkpoint_and_no_thread(tmp_path: Path) -> None:
    events = train(small(), ModelFolder(tmp_path))
    while not isinstance(event := next(events), Step) or event.step < 5:
        pass
    events.close()
    assert load_checkpoint(ModelFolder(tmp_path), "step-00000004").progress.step == 4
    assert ModelFolder(tmp_path).current() == "step-00000004"
    assert writers() == unfinished(tmp_path) == []


@pytest.mark.usefixtures("slow_disk")
def test_the_folder_is_not_unlocked_while_something_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, at_unlocking = ModelFolder.locked, []

    @contextmanager
    def watched(self: ModelFolder) -> Iterator[None]:
        with locked(self):
            try:
                yield
            finally:
                at_unlocking.append([*writers(), *unfinished(tmp_path)])

    def give_up(event: Event) -> None:
        if isinstance(event, Step) and event.step == 5:
            raise RuntimeError("of the reporter")

    monkeypatch.setattr(ModelFolder, "locked", watched)
    with pytest.raises(RuntimeError, match="of the reporter"):
        run_task(lambda *_: small(), tmp_path, reporter=give_up)
    assert at_unlocking == [[]]
    assert ModelFolder(tmp_path).current() == "step-00000004"


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.usefixtures("slow_disk")
@pytest.mark.parametrize(("stop", "step"), [(False, 4), (True, 1)], ids=["goes on", "asked to stop"])
def test_a_full_disk_is_met_in_words_before_the_next_validation_or_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: bool, step: int
) -> None:
    folder = ModelFolder(tmp_path)
    events = train(small(), folder, interrupted=lambda: stop)
    assert [type(next(events)) for _ in range(2)] == [Started, Saved]
    end = time.monotonic() + SECONDS
    while not folder.current() and time.monotonic() < end:
        time.sleep(0.001)
    monkeypatch.setattr(ModelFolder, "set_current", full_disk)
    told: list[Event] = []
    with pytest.raises(TrainingError, match=f"checkpoint step-0000000{step} could not be written: No space left on "):
        told.extend(events)
    assert not any(isinstance(event, Ended) or (isinstance(event, Validated) and event.step > step) for event in told)


@pytest.mark.usefixtures("slow_disk")
def test_a_full_disk_is_met_soon_where_validations_are_far_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelFolder, "set_current", full_disk)
    told: list[Event] = []
    with pytest.raises(TrainingError, match="checkpoint step-00000000 could not be written: No space left on device"):
        told.extend(train(small(steps=5_000, validation={"every": 5_000}), ModelFolder(tmp_path)))
    assert told[-1].step < 5_000


@pytest.mark.usefixtures("slow_disk")
def test_a_full_disk_is_not_kept_from_one_who_stops_to_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelFolder, "set_current", full_disk)
    events = train(small(), ModelFolder(tmp_path))
    assert [type(next(events)) for _ in range(2)] == [Started, Saved]
    with pytest.raises(TrainingError, match="checkpoint step-00000000 could not be written: No space left on device"):
        events.close()
