"""Averages of weights."""

from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from train_tasks import Classify, recipe_for

from regard.checkpoint import ModelFolder, load_checkpoint, load_weights
from regard.train import Averaged, Saved, Validated, train
from regard.train.averaging import MovingAverage


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
    for event in train(task, folder):
        if isinstance(event, Validated):
            measured = event
        if isinstance(event, Saved) and event.step == 12:
            saved = load_checkpoint(folder, event.path.name)
    assert saved.average is not None
    assert not torch.equal(saved.average["hidden.weight"], saved.weights["hidden.weight"])
    model = task.build_model().eval()
    model.load_state_dict(saved.average)
    assert task.validate(model, decode=False, rank=0, world=1) == measured.metrics
    chosen = folder.chosen()
    assert chosen is not None
    assert chosen[1] == "average.safetensors"


def test_the_last_checkpoints_are_averaged_into_the_final_model(tmp_path: Path) -> None:
    recipe = recipe_for(steps=8, validation={"every": 2}, average={"checkpoints": 3}, keep=1, optimizer={"rate": 0.1})
    task, folder = Classify(recipe), ModelFolder(tmp_path)
    averaged = next(event for event in train(task, folder) if isinstance(event, Averaged))
    names = ["step-00000004", "step-00000006", "step-00000008"]
    assert set(names) <= set(folder.names())
    expected = torch.stack([load_weights(tmp_path, name)["output.weight"] for name in names]).mean(0)
    torch.testing.assert_close(load_weights(tmp_path)["output.weight"], expected)
    assert folder.chosen() == ("average-00000008", "model.safetensors")
    assert averaged.checkpoints == 3
    model = task.build_model().eval()
    model.load_state_dict(load_weights(tmp_path))
    assert task.validate(model, decode=False, rank=0, world=1) == averaged.metrics
