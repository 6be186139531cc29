"""Weights by name."""

from pathlib import Path

import pytest
import torch
from checkpoint_strategies import checkpoint_at
from torch import nn

from regard.checkpoint import ModelFolder, load_weights, put_weights, save_checkpoint, weights_of
from regard.errors import ModelError


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.readout = nn.Linear(3, 5)
        self.readout.weight = self.embedding.weight
        self.register_buffer("scale", torch.tensor(2.0))


def test_what_is_shared_comes_once_and_stays_shared() -> None:
    one, other = Tied(), Tied()
    weights = weights_of(one)
    assert weights.keys() == {"embedding.weight", "readout.bias", "scale"}
    put_weights(other, weights, "here")
    assert torch.equal(other.readout.weight, one.readout.weight)
    assert other.readout.weight is other.embedding.weight


def test_weights_are_copied_in_not_shared() -> None:
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    put_weights(other, weights_of(one), "here")
    with torch.no_grad():
        one.weight += 1
    assert not torch.equal(one.weight, other.weight)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"readout.bias": None}, "there: 'readout.bias' is missing, so these weights belong to another kind of model"),
        (
            {"readout.bias": torch.zeros(4)},
            r"there: 'readout.bias' has shape \(4,\), but the model needs \(5,\); the recipe or a vocabulary differs",
        ),
        ({"readout.bia": torch.zeros(4)}, "there: the model has no 'readout.bia'; the nearest it has is 'readout.b"),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_any_is_copied(change: dict[str, torch.Tensor], says: str) -> None:
    model = Tied()
    before = {name: tensor.clone() for name, tensor in weights_of(model).items()}
    weights = {name: tensor + 1 for name, tensor in before.items()} | change
    with pytest.raises(ModelError, match=says):
        put_weights(model, {name: tensor for name, tensor in weights.items() if tensor is not None}, "there")
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights_of(model).items())


def test_chosen_current_and_named_weights_are_found(tmp_path: Path) -> None:
    folder = ModelFolder(tmp_path)
    for step in (1, 2, 3):
        save_checkpoint(folder, checkpoint_at(step, average=True))
    folder.set_chosen("step-00000001", "average.safetensors")
    folder.set_current("step-00000002")
    assert load_weights(tmp_path)["layer.bias"][0] == 0.5
    assert load_weights(tmp_path, "current")["layer.bias"][0] == 2
    assert load_weights(str(tmp_path), "step-00000003")["layer.bias"][0] == 3


@pytest.mark.parametrize("which", ["chosen", "current"])
def test_a_folder_without_a_trained_model_says_so(tmp_path: Path, which: str) -> None:
    with pytest.raises(ModelError, match=rf"there is no trained model here \(no file '{which}'\)"):
        load_weights(tmp_path, which)


def test_a_checkpoint_that_is_gone_is_named(tmp_path: Path) -> None:
    ModelFolder(tmp_path).set_chosen("step-00000001", "model.safetensors")
    with pytest.raises(ModelError, match=r"step-00000001/checksums.json: cannot be read: No such file or directory"):
        load_weights(tmp_path)
