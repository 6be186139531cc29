"""Non-finite steps: skipped, counted, and if they persist, gone back from."""

import json
from pathlib import Path

import pytest
import torch
from train_tasks import PASS, Classify, recipe_for

from regard.checkpoint import ModelFolder, Progress, load_checkpoint, load_weights, weights_of
from regard.data.batches import CorpusPosition
from regard.errors import TrainingError
from regard.train import OPTIMIZERS, Ended, Event, Ranks, Saved, Step, WentBack, optimizers, runtime, train
from regard.train.learner import Learner
from regard.train.nonfinite import Guard, Unread
from regard.train.optimizers import optimizer_state


class Ignoring(torch.optim.SGD):
    """Takes `found_inf` and ignores it, as fused kernels of Apple's MPS do."""

    def __init__(self, groups: list[dict[str, object]], lr: float) -> None:
        super().__init__(groups, lr=lr, momentum=0.5, fused=True)

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        self.found_inf = None
        super().step()


PLAIN = (Ignoring, torch.optim.Adam, torch.optim.RMSprop, torch.optim.NAdam, torch.optim.Adagrad)
"""Optimizers whose kernels do not skip bad steps, as a stranger's may be."""

pytestmark = pytest.mark.usefixtures("written")


def position_of(step: int) -> CorpusPosition:
    """Where step number `step` of an undisturbed run reads."""
    return CorpusPosition((step - 1) // PASS, 0, (step - 1) % PASS)


def run(folder: Path, bad: list[int], value: float = torch.nan, steps: int = 12, bad_steps: int = 3) -> list[Event]:
    task = Classify(
        recipe_for(steps=steps, bad_steps=bad_steps, validation={"every": 4}),
        bad={position_of(step): value for step in bad},
    )
    return list(train(task, ModelFolder(folder)))


def test_single_bad_steps_are_skipped_and_counted(tmp_path: Path) -> None:
    events = run(tmp_path, bad=[2, 5, 6, 9])
    steps = [event for event in events if isinstance(event, Step)]
    assert [event.step for event in steps if event.skipped] == [2, 5, 6, 9]
    assert isinstance(events[-1], Ended)
    assert (events[-1].step, events[-1].skipped) == (12, 4)
    assert not any(isinstance(event, WentBack) for event in events)
    assert all(tensor.isfinite().all() for tensor in load_weights(tmp_path).values())
    progress = load_checkpoint(ModelFolder(tmp_path), "step-00000012").progress
    assert progress.targets == sum(event.count for event in steps if not event.skipped)


def test_if_it_persists_training_goes_back_with_half_the_rate_and_keeps_the_batch(tmp_path: Path) -> None:
    """Values this large overflow only where the model has learned too far: here, at the rate of the first attempt."""
    task = Classify(recipe_for(steps=12, bad_steps=2, validation={"every": 4}))
    attempts = []

    def batch_at(position: CorpusPosition) -> object:
        batch = Classify.batch_at(task, position)
        if position in (position_of(6), position_of(7)):
            attempts.append(position)
            # Twice in training, and once more when the batch is written down.
            if len(attempts) <= 2:
                batch.features.fill_(torch.inf)
        return batch

    task.batch_at = batch_at  # type: ignore[method-assign,assignment]
    events = list(train(task, ModelFolder(tmp_path)))
    back = next(event for event in events if isinstance(event, WentBack))
    assert (back.step, back.to, back.rate_factor) == (7, 4, 0.5)
    assert back.batch == tmp_path / "bad-batches/step-6.json"
    kept = json.loads(back.batch.read_text())
    assert kept["step"] == 6
    assert kept["loss"] == "nan"
    classes = Classify.batch_at(task, position_of(6)).classes.tolist()
    assert kept["batches"] == [[{"class": label} for label in classes]]
    steps = [event for event in events if isinstance(event, Step)]
    assert [event.step for event in steps] == [*range(1, 8), *range(5, 13)]
    assert [event.rate for event in steps] == [1e-3] * 7 + [5e-4] * 8
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert (ended.step, ended.skipped) == (12, 2)
    progress = load_checkpoint(ModelFolder(tmp_path), "step-00000012").progress
    assert (progress.rate_factor, progress.setbacks, progress.skipped) == (0.5, 0, 2)


def test_going_back_survives_a_kill(tmp_path: Path) -> None:
    task = Classify(recipe_for(bad_steps=2), bad={position_of(step): torch.nan for step in (6, 7)})
    for event in train(task, ModelFolder(tmp_path)):
        if isinstance(event, WentBack):
            break
    folder = ModelFolder(tmp_path)
    assert folder.current() == "step-00000004.1"
    progress = load_checkpoint(folder, "step-00000004.1").progress
    assert (progress.step, progress.rate_factor, progress.setbacks) == (4, 0.5, 1)


def test_checkpoints_saved_amid_bad_steps_are_not_gone_back_to(tmp_path: Path) -> None:
    events = run(tmp_path, bad=[], steps=7)
    task = Classify(
        recipe_for(steps=12, bad_steps=4, validation={"every": 4}),
        bad={position_of(step): torch.nan for step in (8, 9, 10, 11)},
    )
    seen = []
    for event in train(task, ModelFolder(tmp_path)):
        seen.append(event)
        if isinstance(event, WentBack):
            break
    assert Saved(8, tmp_path / "checkpoints/step-00000008") in seen
    assert isinstance(seen[-1], WentBack)
    assert seen[-1].to == 7
    assert "step-00000008" not in ModelFolder(tmp_path).names()
    assert isinstance(events[-1], Ended)


def test_it_gives_up_in_words_after_a_few_times_and_leaves_a_good_model(tmp_path: Path) -> None:
    says = (
        r"step 8: loss or gradient stayed non-finite 4 times from the same checkpoint, last at a rate of 0\.000125\. "
        r"Nothing non-finite was saved\. The batch it began with is in .*bad-batches/step-6\.json; "
        r"look at it, then lower train\.optimizer\.rate, raise train\.schedule\.warmup or lower train\.clip"
    )
    with pytest.raises(TrainingError, match=says):
        run(tmp_path, bad=[6, 7, 8])
    assert all(tensor.isfinite().all() for tensor in load_weights(tmp_path).values())


def test_a_model_that_is_bad_from_the_first_step_goes_back_to_its_initial_weights(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="step 3: loss or gradient stayed non-finite 4 times"):
        run(tmp_path, bad=[1, 2, 3])
    assert ModelFolder(tmp_path).current() == "step-00000000.3"


def test_outcomes_are_read_late_and_in_order() -> None:
    guard, progress = Guard(every=3), Progress()
    for step in range(1, 4):
        assert not guard.due()
        outcome = torch.tensor([step / 2, 0.0, step * 10.0, 0.25, float(step == 2)])
        guard.watch(Unread(step, CorpusPosition(), 1, epoch=0, rate=0.1, count=7, outcome=outcome))
    assert guard.due()
    steps = list(guard.read(progress))
    assert [(step.step, step.loss, step.seconds, step.skipped) for step in steps] == [
        (1, 0.5, 10.0, False),
        (2, 1.0, 20.0, True),
        (3, 1.5, 30.0, False),
    ]
    assert (progress.seconds, progress.targets, progress.skipped, progress.streak) == (30.0, 14, 1, 0)
    assert not guard.due()
    assert list(guard.read(progress)) == []


def test_an_interruption_of_any_process_is_noticed() -> None:
    guard = Guard(every=1)
    outcome = torch.tensor([1.0, 2.0, 0.0, 1.0, 0.0])
    guard.watch(Unread(1, CorpusPosition(), 1, epoch=0, rate=0.1, count=7, outcome=outcome))
    assert not guard.interrupted
    list(guard.read(Progress()))
    assert guard.interrupted


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("kind", [*OPTIMIZERS, *PLAIN])
def test_no_optimizer_lets_a_non_finite_step_through(
    kind: str | type[torch.optim.Optimizer], value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isinstance(kind, str):
        plain = {"adam": lambda groups, settings: kind(groups, lr=settings.rate)}
        monkeypatch.setattr(optimizers, "OPTIMIZERS", plain)
    optimizer = {"kind": kind if isinstance(kind, str) else "adam", "weight_decay": 0.1}
    task = Classify(recipe_for(optimizer=optimizer, average={"decay": 0.5}), bad={CorpusPosition(batch=1): value})
    learner = Learner(task, torch.device("cpu"), Ranks())
    assert learner.runner.skips == isinstance(kind, str)
    assert learner.average is not None

    def step(number: int) -> list[dict[str, torch.Tensor]]:
        batch = task.batch_at(CorpusPosition(batch=number))
        batches = [batch, task.batch_at(CorpusPosition(batch=3))]
        plan = runtime.Plan(number + 1, sum(each.count for each in batches), 0.1, False, 0.0)
        outcome, _ = learner.runner.run(batches, plan, None)
        assert outcome[-1] == (number == 1)
        state = optimizer_state(learner.model, learner.optimizer)
        every = (weights_of(learner.model), state, weights_of(learner.average.model))
        return [{name: tensor.clone() for name, tensor in part.items()} for part in every]

    (first, first_state, first_average), (second, second_state, second_average), (third, _, _) = map(step, range(3))
    assert all(second[name].equal(first[name]) for name in first)
    assert all(second_state[name].equal(first_state[name]) for name in first_state)
    # The average takes in the weights as they stayed.
    share = learner.average.weight(2)
    for name, tensor in first_average.items():
        torch.testing.assert_close(second_average[name], tensor.lerp(first[name], share))
    assert not any(third[name].equal(second[name]) for name in second)
