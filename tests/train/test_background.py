"""Checkpoints that are written beside the loop: whole before anything builds on them, and no error of them is lost."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint, save_checkpoint
from regard.errors import TrainingError
from regard.train import Ended, Event, Noted, Saved, Started, Step, Validated, loop, run_task, saving, train
from regard.train.background import Background

SECONDS = 10.0
"""More than anything here takes; what would hang fails after them."""


def settled_in_time(beside: Background, *, wait: bool) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        beside.settle(wait=wait)


@pytest.fixture
def beside() -> Iterator[Background]:
    with closing(Background()) as beside:
        yield beside


def test_the_caller_goes_on_and_waits_when_it_settles(beside: Background) -> None:
    may_end, done = Flag(), []

    def work() -> None:
        may_end.wait(SECONDS)
        done.append("work")

    beside.begin(work)
    beside.settle(wait=False)
    assert done == []
    may_end.set()
    beside.settle()
    assert done == ["work"]


def test_the_next_thing_is_not_begun_before_the_last_has_ended(beside: Background) -> None:
    done: list[str] = []

    def slow() -> None:
        time.sleep(0.05)
        done.append("first")

    beside.begin(slow)
    beside.begin(lambda: None)
    assert done == ["first"]


@pytest.mark.parametrize("wait", [True, False])
def test_what_it_raises_is_raised_once_where_it_is_settled(beside: Background, wait: bool) -> None:
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


def test_what_it_raises_is_not_lost_on_one_who_was_interrupted_while_waiting(
    beside: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = Flag()

    def work() -> None:
        may_end.wait(SECONDS)
        raise OSError("the disk is full")

    def interrupted(self: Future[None]) -> None:
        raise KeyboardInterrupt

    beside.begin(work)
    with monkeypatch.context() as patch:
        patch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            beside.settle()
    may_end.set()
    with pytest.raises(OSError, match="the disk is full"):
        beside.settle()


def small(**train: Any) -> Classify:
    return Classify(recipe_for(**{"steps": 12, "validation": {"every": 4}, "average": {"checkpoints": 2}} | train))


def unfinished(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder / "checkpoints") if name.startswith(".")]


def writers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("background")]


def test_steps_go_on_meanwhile_and_whatever_else_comes_finds_it_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, stepped, saved = ModelFolder(tmp_path), Flag(), ""

    def after_a_step(*arguments: Any) -> str:
        assert stepped.wait(SECONDS), "no step was done while a checkpoint waited"
        return save_checkpoint(*arguments)

    monkeypatch.setattr(loop, "saves_in_background", lambda device: True)
    monkeypatch.setattr(saving, "save_checkpoint", after_a_step)
    for event in train(small(steps=10, average={}), folder):
        if isinstance(event, Step):
            stepped.set()
        elif not isinstance(event, Saved | Started | Noted):
            assert folder.current() == saved
            assert unfinished(tmp_path) == []
        if isinstance(event, Saved):
            saved = event.path.name
            stepped.clear()
            if event.step == 10:
                stepped.set()  # none follows the last


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
def test_a_full_disk_is_a_note_to_another_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("of the step")

    monkeypatch.setattr(ModelFolder, "set_current", full_disk)
    events = train(small(), ModelFolder(tmp_path))
    assert [type(next(events)) for _ in range(2)] == [Started, Saved]
    monkeypatch.setattr(saving.Keeper, "settle", fails)
    with pytest.raises(RuntimeError, match="of the step") as failed:
        list(events)
    assert "checkpoint step-00000000 could not be written: No space left on device" in failed.value.__notes__[0]


@pytest.mark.usefixtures("slow_disk")
def test_a_full_disk_is_not_kept_from_one_who_stops_to_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelFolder, "set_current", full_disk)
    events = train(small(), ModelFolder(tmp_path))
    assert [type(next(events)) for _ in range(2)] == [Started, Saved]
    with pytest.raises(TrainingError, match="checkpoint step-00000000 could not be written: No space left on device"):
        events.close()
