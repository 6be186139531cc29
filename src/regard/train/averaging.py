"""Averages of weights: over the steps of a run, and over its last checkpoints."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder, read_tensors
from regard.recipe import Averaging


class Average(ABC):
    """An average of a model's weights over steps, held by a second model."""

    since = 0
    """The step after which weights are averaged, for averages that begin late; 0 means not yet."""

    def __init__(self, model: nn.Module) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self._averaged: list[Tensor] = list(self.model.parameters())
        self._current: list[Tensor] = list(model.parameters())
        self._buffers = list(zip(self.model.buffers(), model.buffers(), strict=True))

    @property
    def is_begun(self) -> bool:
        """Whether there is an average yet, to be validated and used."""
        return True

    @abstractmethod
    def weight(self, step: int) -> float:
        """The weight of a step in the update of the average."""

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Adds the weights after a step; one that was skipped leaves them, and they count once more."""
        if not self.is_begun:
            return
        torch._foreach_lerp_(self._averaged, self._current, self.weight(step))
        for averaged, current in self._buffers:
            averaged.copy_(current)


class MovingAverage(Average):
    """The exponential moving average (Polyak and Juditsky 1992).

    At step t the decay is at most (1 + t) / (10 + t), so that the average forgets the initial weights quickly.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model)
        self.decay = decay

    def weight(self, step: int) -> float:
        return 1 - min(self.decay, (1 + step) / (10 + step))


class LateAverage(Average):
    """The mean over all steps after the one at which training stopped improving (NT-ASGD, Merity et al. 2018)."""

    @property
    def is_begun(self) -> bool:
        return self.since > 0

    def weight(self, step: int) -> float:
        return 1 / (step - self.since)


def build_average(model: nn.Module, settings: Averaging) -> Average | None:
    """The average over steps that the settings define, if any."""
    if settings.trigger:
        return LateAverage(model)
    return MovingAverage(model, settings.decay) if settings.decay else None


def average_of(folder: ModelFolder, names: Sequence[str], file: str) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, summed in float64."""
    total: dict[str, Tensor] = {}
    like: dict[str, Tensor] = {}
    for name in names:
        like = read_tensors(folder, name, file)
        for key, tensor in like.items():
            total[key] = total[key] + tensor.double() if key in total else tensor.double()
    return {key: (tensor / len(names)).to(like[key].dtype) for key, tensor in total.items()}
