"""The loop: what it yields, when it ends, and that a run that was interrupted ends in the same bits."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoint_strategies import Killed, failing_at
from torch import Tensor, nn
from train_tasks import PASS, Classify, Points, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint, load_weights
from regard.data.batches import CorpusPosition
from regard.errors import ModelError, RecipeError, TrainingError, UsageError
from regard.train import Averaged, Ended, Event, Saved, Started, Step, Validated, train
from regard.train.metrics import MetricsFile
from regard.train.ranks import Ranks

EVERYTHING: dict[str, Any] = {
    "steps": 11,
    "accumulate": 2,
    "average": {"decay": 0.9, "checkpoints": 2},
    "schedule": {"kind": "plateau", "warmup": 3, "patience": 1},
    "optimizer": {"rate": 0.3, "weight_decay": 0.01},
    "validation": {"every": 3, "metric": "accuracy"},
    "keep": 1,
}
"""A run with everything on that must survive an interruption."""


def everything() -> Classify:
    return Classify(recipe_for(**EVERYTHING), carries=True)


def final(folder: Path) -> dict[str, Tensor]:
    """All tensors a run ends with, and its progress but for the time it took."""
    model = ModelFolder(folder)
    name = model.current()
    assert name is not None
    last = load_checkpoint(model, name)
    parts = {"weights": last.weights, "optimizer": last.optimizer, "average": last.average, "carry": last.carry}
    found = {f"{part}.{key}": value for part, tensors in parts.items() for key, value in (tensors or {}).items()}
    progress = last.progress
    numbers = [progress.step, progress.position.epoch, progress.position.batch, progress.targets, progress.lowerings]
    numbers += [progress.stale, progress.best.step if progress.best else -1]
    chosen = {f"chosen.{key}": value for key, value in load_weights(folder).items()}
    return found | chosen | {"progress": torch.tensor(numbers)}


def assert_same_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


@pytest.fixture
def uninterrupted(tmp_path: Path) -> dict[str, Tensor]:
    assert isinstance(list(train(everything(), ModelFolder(tmp_path / "whole")))[-1], Ended)
    return final(tmp_path / "whole")


def events_of(folder: Path, task: Classify, **options: Any) -> list[Event]:
    return list(train(task, ModelFolder(folder), **options))


@pytest.mark.usefixtures("written")
def test_what_is_yielded_and_in_which_order(tmp_path: Path) -> None:
    events = events_of(tmp_path, Classify(recipe_for(steps=5, validation={"every": 2}, average={"checkpoints": 2})))
    kinds = [type(event) for event in events]
    assert kinds == [
        *[Started, Saved],
        *[Step, Step, Validated, Saved],
        *[Step, Step, Validated, Saved],
        *[Step, Validated, Saved, Averaged, Ended],
    ]
    assert [event.step for event in events if isinstance(event, Step)] == [1, 2, 3, 4, 5]
    assert [event.epoch for event in events if isinstance(event, Step)] == [0, 0, 0, 0, 1]


def test_nothing_happens_before_the_first_event_is_asked_for(tmp_path: Path) -> None:
    train(Classify(recipe_for()), ModelFolder(tmp_path / "model"))
    assert not (tmp_path / "model").exists()


@pytest.mark.spread(1)
@pytest.mark.usefixtures("written")
def test_a_run_interrupted_after_every_step_ends_in_the_same_bits(
    tmp_path: Path, uninterrupted: dict[str, Tensor]
) -> None:
    reasons = []
    while not reasons or reasons[-1] == "interrupted":
        events = events_of(tmp_path / "pieces", everything(), interrupted=lambda: True)
        assert sum(isinstance(event, Step) for event in events) == 1
        assert isinstance(events[-1], Ended)
        reasons.append(events[-1].reason)
        torch.rand(len(reasons))  # what else draws numbers in between must not matter
    assert reasons == ["interrupted"] * 10 + ["steps"]
    assert_same_bits(final(tmp_path / "pieces"), uninterrupted)


@pytest.mark.spread(8)
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("step", range(1, 12))
def test_a_run_abandoned_at_any_step_ends_in_the_same_bits(
    tmp_path: Path, uninterrupted: dict[str, Tensor], step: int
) -> None:
    for event in train(everything(), ModelFolder(tmp_path / "pieces")):
        if isinstance(event, Step) and event.step == step:
            break
    events_of(tmp_path / "pieces", everything())
    assert_same_bits(final(tmp_path / "pieces"), uninterrupted)


@pytest.mark.usefixtures("written")
def test_a_run_killed_between_any_two_operations_on_the_disk_ends_in_the_same_bits(
    tmp_path: Path, uninterrupted: dict[str, Tensor]
) -> None:
    folder, kills = ModelFolder(tmp_path / "pieces"), 0
    for number in count(step := 3, step):
        try:
            with failing_at(number, Killed):
                list(train(everything(), folder))
            break
        except Killed:
            kills += 1
        if folder.chosen():
            load_weights(folder.path)
    assert kills > 3
    assert_same_bits(final(folder.path), uninterrupted)


def recorded(folder: ModelFolder) -> list[tuple[str, int]]:
    """What metrics.jsonl says happened once each, however often the run was killed."""
    records = map(json.loads, folder.metrics.read_text().splitlines())
    return [(each["event"], each["step"]) for each in records if each["event"] in ("saved", "noted", "validated")]


@pytest.mark.spread(1)
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("first", range(3))
def test_a_run_killed_between_any_two_operations_on_the_disk_records_the_same_events(
    tmp_path: Path, first: int
) -> None:
    def recording(folder: ModelFolder) -> None:
        settings = {"steps": 6, "average": {"trigger": 1}, "validation": {"every": 2}, "optimizer": {"rate": 9.0}}
        folder.path.mkdir(exist_ok=True)
        metrics = MetricsFile(folder, every=1)
        with closing(train(Classify(recipe_for(**settings)), folder)) as events:
            for event in events:
                os.getppid()  # an operation by itself, so that a kill may come between an event and its record
                metrics(event)

    whole, kills = ModelFolder(tmp_path / "whole"), 0
    recording(whole)
    assert [event for event, _ in recorded(whole)].count("noted") == 1
    for number in count(first, 3):  # of all three cases together, after each operation
        folder = ModelFolder(tmp_path / str(number))
        try:
            with failing_at(number, Killed, also=("getppid",)):
                recording(folder)
            break
        except Killed:
            kills += 1
        recording(folder)
        assert recorded(folder) == recorded(whole), number
    assert kills > 6


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("pointer", ["set_chosen", "set_current"])
def test_a_kill_between_the_pointers_does_not_lose_the_best_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pointer: str
) -> None:
    """The first validation is the best, as the weights hardly move after it."""
    recipe = recipe_for(optimizer={"rate": 1e-30}, validation={"every": 4, "metric": "accuracy"})

    def killed(self: ModelFolder, name: str, *rest: str) -> None:
        if name == "step-00000004":
            raise Killed
        original(self, name, *rest)

    original = getattr(ModelFolder, pointer)
    with monkeypatch.context() as patch:
        patch.setattr(ModelFolder, pointer, killed)
        with pytest.raises(Killed):
            events_of(tmp_path, Classify(recipe))
    events_of(tmp_path, Classify(recipe))
    chosen = ModelFolder(tmp_path).chosen()
    assert chosen is not None
    assert chosen[0].startswith("step-00000004")


def test_resuming_a_finished_run_ends_at_once_with_the_same_model(
    tmp_path: Path, uninterrupted: dict[str, Tensor]
) -> None:
    events = events_of(tmp_path / "whole", everything())
    assert [type(event) for event in events] == [Started, Averaged, Ended]
    assert isinstance(events[0], Started)
    assert events[0].message == "resumes from step-00000011, after step 11"
    assert_same_bits(final(tmp_path / "whole"), uninterrupted)


def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path, uninterrupted: dict[str, Tensor]) -> None:
    roomy = Classify(recipe_for(**EVERYTHING | {"keep": 3}), carries=True)
    for event in train(roomy, ModelFolder(tmp_path / "pieces")):
        if isinstance(event, Step) and event.step == 8:
            break
    damaged = tmp_path / "pieces/checkpoints/step-00000006/optimizer.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-3])
    events = events_of(tmp_path / "pieces", everything())
    assert isinstance(events[0], Started)
    assert events[0].message.startswith(f"{damaged}: damaged: its SHA-256 is not the one in checksums.json; ")
    assert events[0].message.endswith("\nresumes from step-00000003, after step 3")
    assert_same_bits(final(tmp_path / "pieces"), uninterrupted)


def test_a_lost_best_checkpoint_is_replaced_by_the_one_resumed_from(tmp_path: Path) -> None:
    events_of(tmp_path, everything(), interrupted=lambda: True)
    folder = ModelFolder(tmp_path)
    folder.set_chosen("step-00000007", "model.safetensors")
    with pytest.raises(ModelError):
        load_weights(tmp_path)
    next(train(everything(), folder))
    assert folder.chosen() == ("step-00000001", "average.safetensors")


def test_a_run_without_an_intact_checkpoint_says_so(tmp_path: Path) -> None:
    events_of(tmp_path, everything(), interrupted=lambda: True)
    for path in tmp_path.glob("checkpoints/*/model.safetensors"):
        path.unlink()
    with pytest.raises(ModelError, match=r"no checkpoint of this run is intact:\n.*model.safetensors: cannot be") as no:
        next(train(everything(), ModelFolder(tmp_path)))
    assert "the last intact checkpoint" not in str(no.value)
    assert str(no.value).endswith(f"train again in another folder: `regard train {tmp_path}/recipe.toml --out FOLDER`")


def test_state_that_processes_carry_cannot_be_dealt_out_to_another_number_of_them(tmp_path: Path) -> None:
    class Two(Ranks):
        def agree(self, value: Any) -> Any:
            return value

        def gather(self, value: Any) -> list[Any]:
            return [value] * 2

    events_of(tmp_path, everything(), interrupted=lambda: True)
    with pytest.raises(UsageError, match=r"was trained by 1 processes, each of which carries state of its own"):
        next(train(everything(), ModelFolder(tmp_path), ranks=Two(0, 2)))


@pytest.mark.parametrize(
    ("limits", "step", "reason", "says"),
    [
        ({"steps": 7}, 7, "steps", "reached train.steps = 7; the best loss is"),
        ({"steps": 0, "epochs": 2}, 2 * PASS, "epochs", "reached train.epochs = 2; the best loss is"),
        ({"steps": 0, "epochs": 1, "accumulate": 3}, 2, "epochs", "reached train.epochs = 1"),
        ({"minutes": 1e-9}, 1, "minutes", "train.minutes = 1e-09 are over; the best loss is"),
        ({"validation": {"every": 2, "target": 9.0}}, 2, "target", "loss reached train.validation.target = 9.0"),
        (
            {"optimizer": {"rate": 1e-30}, "validation": {"every": 2, "patience": 3, "metric": "accuracy"}},
            8,
            "patience",
            "accuracy has not improved in 3 validations (train.validation.patience = 3); the best accuracy is",
        ),
    ],
)
def test_it_ends_where_the_recipe_says_and_says_why(
    tmp_path: Path, limits: dict[str, Any], step: int, reason: str, says: str
) -> None:
    ended = events_of(tmp_path, Classify(recipe_for(**limits)))[-1]
    assert isinstance(ended, Ended)
    assert (ended.step, ended.reason) == (step, reason)
    assert ended.message.startswith(says)
    assert ModelFolder(tmp_path).current() == f"step-{step:08}"


def test_a_run_that_never_reached_its_rate_says_so(tmp_path: Path) -> None:
    ended = events_of(tmp_path, Classify(recipe_for(steps=6, schedule={"warmup": 7}), dev=False))[-1]
    assert isinstance(ended, Ended)
    assert ended.message == (
        "reached train.steps = 6; nothing was validated; the rate was still rising, because the run had 6 steps and "
        "train.schedule.warmup is 7: lower that, make batches smaller, or train longer"
    )


def test_an_interruption_is_a_reason_too(tmp_path: Path) -> None:
    ended = events_of(tmp_path, Classify(recipe_for()), interrupted=lambda: True)[-1]
    assert isinstance(ended, Ended)
    assert ended.message == "stopped at step 1, and everything is saved; continue with --resume"


def test_the_last_step_of_the_last_pass_is_cut_short(tmp_path: Path) -> None:
    task = Classify(recipe_for(steps=0, epochs=1, accumulate=3))
    counts = [event.count for event in events_of(tmp_path, task) if isinstance(event, Step)]
    batches = [batch.count for batch, _ in islice(task.batches(CorpusPosition()), PASS)]
    assert counts == [sum(batches[:3]), sum(batches[3:])]


def test_without_development_text_the_newest_model_is_used(tmp_path: Path) -> None:
    events = events_of(tmp_path, Classify(recipe_for(steps=6), dev=False))
    assert not any(isinstance(event, Validated) for event in events)
    assert ModelFolder(tmp_path).chosen() == ("step-00000006", "model.safetensors")
    assert isinstance(events[-1], Ended)
    assert events[-1].message == "reached train.steps = 6; nothing was validated"


def test_the_best_model_is_used_and_stays(tmp_path: Path) -> None:
    """With a rate this high, validation soon gets worse."""
    recipe = recipe_for(steps=30, keep=1, validation={"every": 1}, optimizer={"kind": "sgd", "rate": 30.0}, clip=0.0)
    events = events_of(tmp_path, Classify(recipe))
    losses = {event.step: event.metrics["loss"] for event in events if isinstance(event, Validated)}
    best = min(losses, key=losses.__getitem__)
    assert best < 30
    assert ModelFolder(tmp_path).chosen() == (f"step-{best:08}", "model.safetensors")
    assert ModelFolder(tmp_path).names() == [f"step-{best:08}", "step-00000030"]
    assert isinstance(events[-1], Ended)
    assert events[-1].best == losses[best]


@pytest.mark.parametrize(
    ("validation", "decode"), [({}, False), ({"decode": True}, True), ({"metric": "accuracy"}, True)]
)
def test_validation_decodes_when_it_must_and_in_evaluation_mode(
    tmp_path: Path, validation: dict[str, Any], decode: bool
) -> None:
    task = Classify(recipe_for(validation={"every": 6, **validation}))
    events_of(tmp_path, task)
    assert task.validations == [{"decode": decode, "training": False}] * 2


def test_a_metric_that_validation_does_not_measure_is_refused(tmp_path: Path) -> None:
    says = "train.validation.metric = 'bleu', but validation measured 'loss' or 'accuracy' only; choose one of these"
    with pytest.raises(RecipeError, match=says):
        events_of(tmp_path, Classify(recipe_for(validation={"every": 6, "metric": "bleu"})))


def test_cosine_over_epochs_knows_its_end_also_after_an_interruption(tmp_path: Path) -> None:
    recipe = recipe_for(steps=0, epochs=2, schedule={"kind": "cosine", "warmup": 2})
    whole = [event.rate for event in events_of(tmp_path / "whole", Classify(recipe)) if isinstance(event, Step)]
    assert whole[1] == recipe.train.optimizer.rate
    assert whole[-1] == 0.0
    pieces: list[float] = []
    while len(pieces) < len(whole):
        events = events_of(tmp_path / "pieces", Classify(recipe), interrupted=lambda: True)
        pieces += [event.rate for event in events if isinstance(event, Step)]
    assert pieces == whole


def test_starting_from_another_model_takes_over_its_weights(tmp_path: Path) -> None:
    events_of(tmp_path / "first", Classify(recipe_for()))
    recipe = recipe_for(start_from=str(tmp_path / "first"), average={"decay": 0.5})
    events = train(Classify(recipe), ModelFolder(tmp_path / "second"))
    started, _ = next(events), next(events)
    assert isinstance(started, Started)
    assert started.message == f"begins with the weights of {tmp_path / 'first'}"
    for which in ("current", "chosen"):
        begun = load_weights(tmp_path / "second", which)
        for name, tensor in load_weights(tmp_path / "first").items():
            assert torch.equal(begun[name], tensor)


class Slow(Classify):
    """A validation takes its time."""

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        time.sleep(0.05)
        return super().validate(model, decode=decode, rank=rank, world=world)


def test_steps_know_how_much_time_was_spent_aside(tmp_path: Path) -> None:
    steps = [event for event in train(Slow(recipe_for()), ModelFolder(tmp_path)) if isinstance(event, Step)]
    aside = [step.aside for step in steps]
    assert aside == sorted(aside)
    for number in (4, 8):
        assert aside[number] - aside[number - 1] >= 0.05
        assert steps[number].seconds - steps[number - 1].seconds >= aside[number] - aside[number - 1] - 1e-3


class Hungry(Classify):
    """Needs more memory than there is, for a step or for a validation."""

    def objective(self, model: nn.Module, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        if not self.dev:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")
        return super().objective(model, batch, carry)

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")


@pytest.mark.parametrize(
    ("dev", "validation", "says"),
    [
        (False, {"every": 4}, "step 1: the device's memory is full; train.batch_tokens = 4096 is too large for this"),
        (True, {"every": 4}, "step 4: the device's memory is full; train.batch_tokens = 4096 is too large for this"),
        (
            True,
            {"every": 4, "decode": True},
            "step 4: the device's memory is full; train.batch_tokens = 4096 is too large for this",
        ),
    ],
)
def test_memory_that_does_not_suffice_is_met_in_words(
    tmp_path: Path, dev: bool, validation: dict[str, Any], says: str
) -> None:
    with pytest.raises(TrainingError) as refusal:
        list(train(Hungry(recipe_for(validation=validation, batch_tokens=4096), dev=dev), ModelFolder(tmp_path)))
    assert str(refusal.value).startswith(says)
    assert "Lower it in a new run (and raise train.accumulate by as much, so that a step still sees as many " in str(
        refusal.value
    )


@pytest.mark.parametrize(("method", "step"), [("set_current", 4), ("set_chosen", 4)])
def test_a_disk_that_is_full_when_a_run_goes_on_is_met_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, step: int
) -> None:
    list(train(Classify(recipe_for(steps=step)), ModelFolder(tmp_path)))
    (tmp_path / "chosen").write_text("step-00000099/model.safetensors")
    monkeypatch.setattr(ModelFolder, method, full_disk)
    with pytest.raises(TrainingError, match="checkpoint step-00000004 could not be written: No space left on device"):
        list(train(Classify(recipe_for()), ModelFolder(tmp_path)))


@pytest.mark.parametrize("what", ["set_chosen", "remove"])
def test_a_disk_that_is_full_at_the_average_is_met_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    recipe = recipe_for(steps=8, average={"checkpoints": 2}, keep=1)
    events = train(Classify(recipe, dev=False), ModelFolder(tmp_path))  # nothing to judge it by: it is chosen
    for event in events:
        if isinstance(event, Saved) and event.step == 8:
            break
    # An older average, which has to make room.
    (tmp_path / "checkpoints/average-00000001").mkdir()
    monkeypatch.setattr(ModelFolder, what, full_disk)
    with pytest.raises(TrainingError, match=": average-00000008 could not be written: No space left on device"):
        list(events)


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")
