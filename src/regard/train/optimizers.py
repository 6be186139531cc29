"""Optimizers that can skip a step on the device, without synchronizing with the host.

The fused kernels of torch read a tensor `found_inf`: if it is 1 they change neither weights nor state. Whether those of
an optimizer do is found by trying (`obeys_found_inf`).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.checkpoint import names_in, no_such_part
from regard.errors import ModelError
from regard.recipe import OptimizerSettings, names

Optimizer = torch.optim.Optimizer
Groups = list[dict[str, Any]]


class SGD(torch.optim.SGD):
    """Stochastic gradient descent with decoupled weight decay (Loshchilov and Hutter 2019)."""

    def __init__(self, groups: Groups, rate: float, momentum: float) -> None:
        super().__init__(groups, lr=rate, momentum=momentum, fused=True)
        self.found_inf = torch.zeros(())
        for group in self.param_groups:
            # torch's own weight decay goes through the momentum, so it is not decoupled.
            group["decay"], group["weight_decay"] = group["weight_decay"], 0.0
            if momentum:
                # Initialized here, because the kernel would leave them unset if the first step were skipped.
                self.state.update({tensor: {"momentum_buffer": torch.zeros_like(tensor)} for tensor in group["params"]})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            trained = [parameter for parameter in group["params"] if parameter.grad is not None]
            if group["decay"] and trained:
                shrink = 1 - group["lr"] * group["decay"] * (1 - self.found_inf)
                torch._foreach_mul_(trained, shrink.to(trained[0].dtype))
        super().step()


def adamw(groups: Groups, settings: OptimizerSettings) -> Optimizer:
    betas = settings.beta1, settings.beta2
    return torch.optim.AdamW(groups, lr=settings.rate, betas=betas, eps=settings.epsilon, fused=True)


def adam(groups: Groups, settings: OptimizerSettings) -> Optimizer:
    """The original Adam (Kingma and Ba 2015): the gradient of the L2 penalty is scaled like any other, so that the
    weights of rare words, whose gradients are small, decay most."""
    betas = settings.beta1, settings.beta2
    return torch.optim.Adam(groups, lr=settings.rate, betas=betas, eps=settings.epsilon, fused=True)


def sgd(groups: Groups, settings: OptimizerSettings) -> Optimizer:
    return SGD(groups, settings.rate, settings.momentum)


OPTIMIZERS: Mapping[str, Callable[[Groups, OptimizerSettings], Optimizer]] = names.OPTIMIZERS


def build_optimizer(model: nn.Module, settings: OptimizerSettings) -> Optimizer:
    """The recipe's optimizer; matrices are decayed, vectors (biases, gains) are not. Each group of parameters has a
    `factor` of the rate; parameters whose factor is 0 are not trained."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = defaultdict(list)
    factors = factors_by_name(model, settings)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and factors[name] > 0)
        if parameter.requires_grad:
            groups[factors[name], parameter.dim() > 1].append(parameter)
    if not groups:
        raise ModelError(
            f"train.optimizer.part_rates = {settings.part_rates}: nothing is left to be trained; give a part a factor "
            "above 0"
        )
    described = [
        {"params": parameters, "weight_decay": settings.weight_decay if is_matrix else 0.0, "factor": factor}
        for (factor, is_matrix), parameters in sorted(groups.items(), key=lambda item: item[0], reverse=True)
    ]
    return OPTIMIZERS[settings.kind](described, settings)


def factors_by_name(model: nn.Module, settings: OptimizerSettings) -> dict[str, float]:
    """The factor of the rate of each parameter: that of the longest part it belongs to, or 1."""
    every = [name for name, _ in model.named_parameters()]
    found = dict.fromkeys(every, 1.0)
    for part, factor in sorted(settings.factors.items(), key=lambda item: len(item[0])):
        inside = names_in(every, part)
        if not inside:
            raise ModelError(f"train.optimizer.part_rates: {no_such_part('this model', part, every)}")
        found |= dict.fromkeys(inside, factor)
    return found


def obeys_found_inf(optimizer: Optimizer) -> bool:
    """Whether a step with `found_inf` = 1 changes neither weights nor state, tried on copies of a few tensors. The
    fused kernels of CPUs and CUDA obey; those of Apple's MPS ignore it, and plain optimizers refuse it."""
    # torch's own GradScaler checks this before it sets `found_inf`.
    if not getattr(optimizer, "_step_supports_amp_scaling", False):
        return False
    groups = [
        {**group, "params": [nn.Parameter(min(group["params"], key=Tensor.numel).detach().clone())]}
        for group in optimizer.param_groups
    ]
    weights = [group["params"][0] for group in groups]
    flag = weights[0].new_zeros((), dtype=torch.float32)
    trial: Any = object.__new__(type(optimizer))
    trial.__dict__.update(vars(optimizer), param_groups=groups, state=defaultdict(dict), found_inf=flag)

    def step(gradient: float, bad: float) -> list[Tensor]:
        flag.fill_(bad)
        for weight in weights:
            weight.grad = torch.full_like(weight, gradient)
        trial.step()
        state = (value for entries in trial.state.values() for value in entries.values() if isinstance(value, Tensor))
        return [tensor.detach().clone() for tensor in (*weights, *state)]

    before, after = step(1.0, 0.0), step(torch.nan, 1.0)
    return all(map(torch.equal, before, after))


def rates_of(optimizer: Optimizer, rate: float) -> list[float]:
    """The rate of each group of parameters."""
    # An optimizer of another package may make groups of its own.
    return [rate * group.get("factor", 1.0) for group in optimizer.param_groups]


def set_rates(optimizer: Optimizer, rates: Iterable[float] | Tensor) -> None:
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate


def optimizer_state(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """The state as named tensors, `parameter/entry`; settings such as the rate come from the recipe."""
    return {
        f"{name}/{entry}": value
        for name, parameter in model.named_parameters()
        for entry, value in optimizer.state.get(parameter, {}).items()
    }


def put_optimizer_state(
    model: nn.Module, optimizer: Optimizer, state: dict[str, Tensor], where: str, late: Collection[nn.Parameter] = ()
) -> None:
    """Replaces the optimizer's state by a saved one; `late` are parameters that may have none yet."""
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for key, value in state.items():
        name, _, entry = key.rpartition("/")
        if name not in parameters or value.shape not in (parameters[name].shape, ()):
            raise ModelError(f"{where}: the optimizer's {key!r} does not fit the model; the recipe must have changed")
        own = cast(dict[str, Tensor], optimizer.state[parameters[name]])
        own[entry] = value.to(parameters[name].device, copy=True)
    trained = {name: parameter for name, parameter in parameters.items() if parameter.requires_grad}
    entries = {
        name: len(optimizer.state.get(parameter, {}))
        for name, parameter in trained.items()
        if parameter in optimizer.state or parameter not in late
    }
    for name, count in entries.items():
        if count < max(entries.values()):
            raise ModelError(f"{where}: the optimizer's state of {name!r} is not complete; the checkpoint is damaged")
