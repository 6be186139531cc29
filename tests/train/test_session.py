"""A run in its folder: what it writes, what it refuses, what it leaves on record."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder
from regard.errors import TrainingError, UsageError
from regard.recipe import read_recipe
from regard.train import Ended, Event, run_task


def run(folder: Path, *, resume: bool = False, told: list[Event] | None = None, **train: Any) -> Ended:
    task = Classify(recipe_for(**train))
    seen: list[Event] = [] if told is None else told
    return run_task(lambda *_: task, folder, resume=resume, reporter=seen.append)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_leaves_recipe_task_files_and_records(tmp_path: Path) -> None:
    told: list[Event] = []
    ended = run(tmp_path / "new/model", told=told, steps=5, log_every=2)
    folder = ModelFolder(tmp_path / "new/model")
    assert told[-1] is ended
    assert read_recipe(folder.recipe) == recipe_for(steps=5, log_every=2)
    assert (folder.path / "words.json").exists()
    kinds = [(record["event"], record["step"]) for record in records(folder.path)]
    assert kinds == [
        *[("started", 0), ("saved", 0), ("step", 2), ("step", 4)],
        *[("validated", 4), ("saved", 4), ("step", 5), ("validated", 5), ("saved", 5), ("ended", 5)],
    ]
    assert records(folder.path)[-1]["reason"] == "steps"


def test_a_second_run_does_not_touch_the_first(tmp_path: Path) -> None:
    run(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="there is a model here already; continue it with --resume"):
        run(tmp_path, steps=99)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_resuming_where_nothing_is_begins(tmp_path: Path) -> None:
    assert run(tmp_path / "new", resume=True).step == 12


def test_a_run_can_be_resumed_with_other_limits(tmp_path: Path) -> None:
    run(tmp_path, steps=5)
    assert run(tmp_path, resume=True, steps=7).step == 7
    assert read_recipe(tmp_path / "recipe.toml").train.steps == 7


@pytest.mark.parametrize(
    ("train", "says"),
    [
        ({"accumulate": 2}, "this run was begun with train.accumulate = 1, but the recipe now says 2; resume with"),
        ({"optimizer": {"rate": 0.5}}, r"this run was begun with train.optimizer.rate = 0\.001, but"),
    ],
)
def test_a_run_cannot_be_resumed_as_another(tmp_path: Path, train: dict[str, Any], says: str) -> None:
    run(tmp_path, steps=5)
    with pytest.raises(UsageError, match=says):
        run(tmp_path, resume=True, **train)
    assert read_recipe(tmp_path / "recipe.toml").train.steps == 5


def test_a_run_in_progress_keeps_others_out(tmp_path: Path) -> None:
    with ModelFolder(tmp_path).locked(), pytest.raises(UsageError, match="trains here; wait for it or choose another"):
        run(tmp_path)


def test_records_after_the_checkpoint_resumed_from_come_once(tmp_path: Path) -> None:
    class AbandonedError(Exception):
        pass

    def give_up(event: Event) -> None:
        if event.step == 7:
            raise AbandonedError

    with pytest.raises(AbandonedError):
        run_task(lambda *_: Classify(recipe_for(log_every=1)), tmp_path, reporter=give_up)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"event": "step", "st')
    run(tmp_path, resume=True)
    assert [record["step"] for record in records(tmp_path) if record["event"] == "step"] == list(range(1, 13))
    assert [record["step"] for record in records(tmp_path) if record["event"] == "started"] == [0, 4]


def test_a_disk_that_is_full_before_the_first_checkpoint_is_met_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Classify, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Classify, "save", full)
    with pytest.raises(TrainingError, match="the recipe or a file of the task could not be written: No space left"):
        run(tmp_path)


def test_every_step_is_on_record_once_however_a_run_is_cut(tmp_path: Path) -> None:
    """The records of steps are summaries: each covers those since the one before it."""
    for steps in (3, 7, 12):
        run(tmp_path, resume=True, steps=steps, log_every=5)
    assert [record["step"] for record in records(tmp_path) if record["event"] == "step"] == [3, 4, 5, 7, 8, 10, 12]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_is_named(tmp_path: Path, number: signal.Signals) -> None:
    def ask(event: Event) -> None:
        if event.step == 6:
            signal.raise_signal(number)

    ended = run_task(lambda *_: Classify(recipe_for()), tmp_path, reporter=ask)
    assert (ended.reason, ended.signal) == ("interrupted", number)
    assert ended.step < 12
    assert records(tmp_path)[-1]["signal"] == number
    assert signal.getsignal(number) not in (None, signal.SIG_IGN)
    assert run(tmp_path, resume=True).signal is None
