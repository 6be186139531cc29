"""Averages of weights."""

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint, load_weights
from regard.errors import RecipeError
from regard.recipe import Recipe
from regard.train import Averaged, Ended, Noted, Saved, Validated, train
from regard.train.averaging import MovingAverage

pytestmark = pytest.mark.usefixtures("written")


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=9), st.floats(0.01, 0.99))
def test_a_moving_average_is_what_its_formula_says(values: list[float], decay: float) -> None:
    model = nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        model.weight.fill_(3.0)
    average, expected = MovingAverage(model, decay), 3.0
    for step, value in enumerate(values, start=1):
        with torch.no_grad():
            model.weight.fill_(value)
        average.update(step)
        now = min(decay, (1 + step) / (10 + step))
        expected = now * expected + (1 - now) * value
    assert abs(average.model.weight.item() - expected) < 1e-9
    assert model.weight.item() == values[-1]


def test_buffers_are_copied_and_nothing_of_the_average_is_trained() -> None:
    model = nn.BatchNorm1d(2)
    average = MovingAverage(model, 0.9)
    model(torch.randn(4, 2))
    average.update(1)
    assert torch.equal(average.model.running_mean, model.running_mean)
    assert not any(parameter.requires_grad for parameter in average.model.parameters())
    assert not average.model.training


def test_the_moving_average_is_what_is_validated_and_used(tmp_path: Path) -> None:
    recipe = recipe_for(average={"decay": 0.9}, optimizer={"rate": 0.1})
    task, folder = Classify(recipe), ModelFolder(tmp_path)
    events = list(train(task, folder))
    measured = next(event for event in reversed(events) if isinstance(event, Validated))
    last = next(event for event in events if isinstance(event, Saved) and event.step == 12)
    saved = load_checkpoint(folder, last.path.name)
    assert saved.average is not None
    assert not torch.equal(saved.average["hidden.weight"], saved.weights["hidden.weight"])
    model = task.build_model().eval()
    model.load_state_dict(saved.average)
    assert task.validate(model, decode=False, rank=0, world=1) == measured.metrics
    chosen = folder.chosen()
    assert chosen is not None
    assert chosen[1] == "average.safetensors"


def restless() -> Recipe:
    """A run that steps to and fro, so that the average of its last two checkpoints is better than either."""
    optimizer = {"kind": "sgd", "rate": 1.0}
    average = {"checkpoints": 2}
    return recipe_for(steps=8, validation={"every": 2}, average=average, keep=1, optimizer=optimizer, clip=0.0)


def test_the_last_checkpoints_are_averaged_into_the_final_model(tmp_path: Path) -> None:
    task, folder = Classify(restless()), ModelFolder(tmp_path)
    averaged = next(event for event in train(task, folder) if isinstance(event, Averaged))
    names = ["step-00000006", "step-00000008"]
    assert set(names) <= set(folder.names())
    expected = torch.stack([load_weights(tmp_path, name)["output.weight"] for name in names]).mean(0)
    torch.testing.assert_close(load_weights(tmp_path)["output.weight"], expected)
    assert folder.chosen() == ("average-00000008", "model.safetensors")
    assert averaged.checkpoints == 2
    model = task.build_model().eval()
    model.load_state_dict(load_weights(tmp_path))
    assert task.validate(model, decode=False, rank=0, world=1) == averaged.metrics


def test_an_average_that_is_worse_is_not_the_model_and_the_last_line_says_so(tmp_path: Path) -> None:
    settings = {"validation": {"every": 1}, "average": {"checkpoints": 4}, "keep": 1}
    # The rate is so large that the first steps are the best, and far from the last ones.
    wild = recipe_for(steps=8, optimizer={"kind": "sgd", "rate": 30.0}, clip=0.0, **settings)
    folder = ModelFolder(tmp_path)
    events = list(train(Classify(wild), folder))
    best = min((event for event in events if isinstance(event, Validated)), key=lambda event: event.metrics["loss"])
    averaged, ended = events[-2:]
    assert isinstance(averaged, Averaged)
    assert isinstance(ended, Ended)
    assert not averaged.chosen
    assert averaged.metrics["loss"] > best.metrics["loss"]
    assert folder.chosen() == (f"step-{best.step:08}", "model.safetensors")
    assert folder.names("average") == []
    assert ended.best == best.metrics["loss"]
    assert ended.message == (
        f"reached train.steps = 8; the best loss is {best.metrics['loss']:.4g}, at step {best.step}; the model is "
        f"that one, because the average of the last 4 checkpoints (loss {averaged.metrics['loss']:.4g}) is worse"
    )


def test_the_last_line_names_an_average_that_was_chosen(tmp_path: Path) -> None:
    for dev in (True, False):
        *_, averaged, ended = train(Classify(restless(), dev=dev), ModelFolder(tmp_path / str(dev)))
        assert isinstance(averaged, Averaged)
        assert isinstance(ended, Ended)
        value = f" (loss {averaged.metrics['loss']:.4g})" if dev else ""
        assert averaged.chosen
        assert ended.message.endswith(f"; the model is the average of the last 2 checkpoints{value}")
        assert ended.best == averaged.metrics.get("loss")


def stalled(steps: int = 8) -> Recipe:
    """A run that gets no better after its first validation, so that averaging begins with the second."""
    return recipe_for(
        steps=steps,
        validation={"every": 1},
        average={"trigger": 1},
        optimizer={"kind": "sgd", "rate": 30.0},
        keep=20,
        clip=0.0,
    )


def test_weights_are_averaged_from_when_training_stops_getting_on(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path)
    events = list(train(Classify(stalled()), folder))
    noted = [event for event in events if isinstance(event, Noted)]
    assert [event.message for event in noted] == ["no improvement for a while: from here on weights are averaged"]
    begun = noted[0].step
    saved = {event.step: load_checkpoint(folder, event.path.name) for event in events if isinstance(event, Saved)}
    for step, checkpoint in saved.items():
        assert checkpoint.progress.averaged_since == (begun if step >= begun else 0)
        if step <= begun:
            assert checkpoint.average is None
            continue
        averaged = [saved[one].weights["output.weight"] for one in range(begun + 1, step + 1)]
        torch.testing.assert_close(checkpoint.average["output.weight"], torch.stack(averaged).mean(0))
    assert saved[8].progress.stale < 8 - begun + 1  # the average had its own time to get on


@pytest.mark.spread(3)
@pytest.mark.parametrize("first", [1, 3, 5])
def test_an_average_goes_on_where_it_was_left(tmp_path: Path, first: int) -> None:
    list(train(Classify(stalled()), whole := ModelFolder(tmp_path / "whole")))
    list(train(Classify(stalled(first)), parted := ModelFolder(tmp_path / "parted")))
    list(train(Classify(stalled()), parted))
    one, other = (load_checkpoint(folder, "step-00000008") for folder in (whole, parted))
    assert one.average.keys() == other.average.keys()
    assert all(torch.equal(one.average[name], other.average[name]) for name in one.average)


def test_two_kinds_of_averages_over_steps_are_refused() -> None:
    expected = "trigger = 5 is an average of its own; leave decay and checkpoints out, or set trigger = 0"
    with pytest.raises(RecipeError, match=re.escape(expected)):
        recipe_for(average={"trigger": 5, "decay": 0.9})
