"""The plain loop that training is measured against does what it is said to do."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

WIDTHS = ((8, 8, 8), (6, 9, 6))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("plain_language")


@pytest.mark.spread(2)
@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_it_learns_its_text_with_and_without_weight_drop(
    plain: ModuleType, widths: tuple[int, ...], drop: float
) -> None:
    torch.manual_seed(1)
    model = plain.PlainLanguageModel(11, widths, 0.0, drop)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    step = plain.plain_step(model, 3, 5, mixed=False)
    losses = [step().item() for _ in range(200)]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert all((weight != before[name]).any() for name, weight in model.named_parameters())


def test_recurrent_weights_are_dropped_and_no_others(plain: ModuleType) -> None:
    torch.manual_seed(1)
    layer = plain.WeightDropLSTM(4, 4, 2, weight_drop=0.5)
    same = nn.LSTM(4, 4, 2)
    same.load_state_dict(layer.state_dict())
    features, state = torch.randn(3, 2, 4), (torch.randn(2, 2, 4), torch.randn(2, 2, 4))
    for one, other in zip(layer.eval()(features, state)[1], same(features, state)[1], strict=True):
        torch.testing.assert_close(one, other)
    layer.train()(features, state)[0].sum().backward()
    dropped = {name: (weight.grad == 0).double().mean().item() for name, weight in layer.named_parameters()}
    for name, share in dropped.items():
        assert (0.2 < share < 0.8) if name.startswith("weight_hh") else share == 0, name
