"""Optimizers that can skip a step on the device, without synchronizing with the host.

The fused kernels of torch read a tensor `found_inf`: if it is 1 they change neither weights nor state. Whether those of
an optimizer do is found by trying (`obeys_found_inf`).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

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
            if group["decay"]:
                shrink = 1 - group["lr"] * group["decay"] * (1 - self.found_inf)
                torch._foreach_mul_(group["params"], shrink.to(group["params"][0].dtype))
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
    """The recipe's optimizer; matrices are decayed, vectors (biases, gains) are not."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decayed = [parameter for parameter in parameters if parameter.dim() > 1]
    others = [parameter for parameter in parameters if parameter.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return OPTIMIZERS[settings.kind]([group for group in groups if group["params"]], settings)


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


def set_rate(optimizer: Optimizer, rate: float | Tensor) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimizer_state(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """The state as named tensors, `parameter/entry`; settings such as the rate come from the recipe."""
    return {
        f"{name}/{entry}": value
        for name, parameter in model.named_parameters()
        for entry, value in optimizer.state.get(parameter, {}).items()
    }


def put_optimizer_state(model: nn.Module, optimizer: Optimizer, state: dict[str, Tensor], where: str) -> None:
    """Replaces the optimizer's state by a saved one."""
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for key, value in state.items():
        name, _, entry = key.rpartition("/")
        if name not in parameters or value.shape not in (parameters[name].shape, ()):
            raise ModelError(f"{where}: the optimizer's {key!r} does not fit the model; the recipe must have changed")
        own = cast(dict[str, Tensor], optimizer.state[parameters[name]])
        own[entry] = value.to(parameters[name].device, copy=True)
    trained = {name: parameter for name, parameter in parameters.items() if parameter.requires_grad}
    entries = {name: len(optimizer.state.get(parameter, {})) for name, parameter in trained.items()}
    for name, count in entries.items():
        if count < max(entries.values()):
            raise ModelError(f"{where}: the optimizer's state of {name!r} is not complete; the checkpoint is damaged")
