"""Optimizers against the equations, and that they can be told to skip a step."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.errors import ModelError
from regard.recipe import OptimizerSettings
from regard.train.optimizers import (
    OPTIMIZERS,
    build_optimizer,
    obeys_found_inf,
    optimizer_state,
    put_optimizer_state,
    set_rates,
)

RATE, DECAY = 0.1, 0.2
PLAIN = (torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop, torch.optim.NAdam, torch.optim.Adagrad)
"""Without fused kernels, as a stranger's are."""


def model_of(dtype: torch.dtype = torch.float64) -> nn.Module:
    return nn.Linear(3, 2).to(dtype)


def give_gradients(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)


def adamw_by_hand(weight: Tensor, gradients: list[Tensor], decay: float, settings: OptimizerSettings) -> Tensor:
    first, second = torch.zeros_like(weight), torch.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        weight = weight * (1 - settings.rate * decay)
        first = settings.beta1 * first + (1 - settings.beta1) * gradient
        second = settings.beta2 * second + (1 - settings.beta2) * gradient**2
        right_first, right_second = first / (1 - settings.beta1**step), second / (1 - settings.beta2**step)
        weight = weight - settings.rate * right_first / (right_second.sqrt() + settings.epsilon)
    return weight


def adam_by_hand(weight: Tensor, gradients: list[Tensor], decay: float, settings: OptimizerSettings) -> Tensor:
    first, second = torch.zeros_like(weight), torch.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        penalized = gradient + decay * weight
        first = settings.beta1 * first + (1 - settings.beta1) * penalized
        second = settings.beta2 * second + (1 - settings.beta2) * penalized**2
        right_first, right_second = first / (1 - settings.beta1**step), second / (1 - settings.beta2**step)
        weight = weight - settings.rate * right_first / (right_second.sqrt() + settings.epsilon)
    return weight


def sgd_by_hand(weight: Tensor, gradients: list[Tensor], decay: float, settings: OptimizerSettings) -> Tensor:
    speed = torch.zeros_like(weight)
    for gradient in gradients:
        weight = weight * (1 - settings.rate * decay)
        speed = settings.momentum * speed + gradient
        weight = weight - settings.rate * speed
    return weight


# The equations of every optimizer there is.
BY_HAND = {"adamw": adamw_by_hand, "adam": adam_by_hand, "sgd": sgd_by_hand}
SETTINGS = [
    *(OptimizerSettings(kind=kind, rate=RATE, weight_decay=DECAY) for kind in OPTIMIZERS),
    OptimizerSettings(kind="sgd", rate=RATE, weight_decay=DECAY, momentum=0.7),
]


def optimizer_for(model: nn.Module, settings: OptimizerSettings) -> Any:
    optimizer: Any = build_optimizer(model, settings)
    optimizer.found_inf = torch.zeros(())
    return optimizer


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_updates_are_those_of_the_equations_and_vectors_are_not_decayed(settings: OptimizerSettings) -> None:
    model = model_of()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = optimizer_for(model, settings)
    seen: dict[str, list[Tensor]] = {name: [] for name in before}
    for step in range(4):
        give_gradients(model, step)
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None
            seen[name].append(parameter.grad.clone())
        optimizer.step()
    for name, parameter in model.named_parameters():
        decay = DECAY if name == "weight" else 0.0
        expected = BY_HAND[settings.kind](before[name], seen[name], decay, settings)
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("bad_step", [0, 2])
def test_a_skipped_step_changes_neither_weights_nor_state(settings: OptimizerSettings, bad_step: int) -> None:
    """A run with a bad step in it ends as one without that step."""
    runs = []
    for bad in (True, False):
        torch.manual_seed(0)
        model = model_of(torch.float32)
        optimizer = optimizer_for(model, settings)
        for step in range(4):
            if bad and step == bad_step:
                for parameter in model.parameters():
                    parameter.grad = torch.full_like(parameter, torch.nan)
                optimizer.found_inf.fill_(1)
                optimizer.step()
                optimizer.found_inf.fill_(0)
            give_gradients(model, step)
            optimizer.step()
        runs.append([*model.parameters(), *optimizer_state(model, optimizer).values()])
    assert all(torch.equal(one, other) for one, other in zip(*runs, strict=True))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_optimizer_of_ours_obeys_and_trying_it_changes_nothing(settings: OptimizerSettings) -> None:
    model = model_of(torch.float32)
    optimizer = optimizer_for(model, settings)
    give_gradients(model, 0)
    optimizer.step()
    before = [tensor.clone() for tensor in (*model.parameters(), *optimizer_state(model, optimizer).values())]
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    assert obeys_found_inf(optimizer)
    after = [*model.parameters(), *optimizer_state(model, optimizer).values()]
    assert all(map(torch.equal, before, after))
    assert all(map(torch.equal, gradients, [parameter.grad for parameter in model.parameters()]))
    assert optimizer.found_inf.item() == 0


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_optimizers_do_not(kind: type[torch.optim.Optimizer]) -> None:
    optimizer: Any = kind(model_of(torch.float32).parameters(), lr=RATE)
    assert not obeys_found_inf(optimizer)


def test_a_skipped_step_that_changes_the_state_alone_is_no_obedience() -> None:
    class Counting(torch.optim.SGD):
        def step(self, closure: None = None) -> None:  # type: ignore[override]
            super().step()
            state = self.state[self.param_groups[0]["params"][0]]
            state["steps"] = state.get("steps", torch.zeros(())) + 1

    assert obeys_found_inf(torch.optim.SGD(model_of(torch.float32).parameters(), lr=RATE, fused=True))
    assert not obeys_found_inf(Counting(model_of(torch.float32).parameters(), lr=RATE, fused=True))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_restored_state_goes_on_as_if_nothing_had_happened(settings: OptimizerSettings) -> None:
    model = model_of(torch.float32)
    optimizer = optimizer_for(model, settings)
    for step in range(3):
        give_gradients(model, step)
        optimizer.step()
    other = model_of(torch.float32)
    other.load_state_dict(model.state_dict())
    another = optimizer_for(other, settings)
    state = {name: tensor.clone() for name, tensor in optimizer_state(model, optimizer).items()}
    put_optimizer_state(other, another, state, "here")
    for each, its in ((model, optimizer), (other, another)):
        give_gradients(each, 3)
        set_rates(its, [0.05] * len(its.param_groups))
        its.step()
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))


def test_a_state_of_another_model_is_refused() -> None:
    model = model_of()
    for state in ({"elsewhere/exp_avg": torch.zeros(3)}, {"weight/exp_avg": torch.zeros(5, 5)}):
        with pytest.raises(ModelError, match=r"here: the optimizer's '.*/exp_avg' does not fit the model; the recipe"):
            put_optimizer_state(model, build_optimizer(model, SETTINGS[0]), state, "here")
