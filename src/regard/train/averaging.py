"""Averages of weights: over the steps of a run, and over its last checkpoints."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.checkpoint import ModelFolder, read_tensors


class MovingAverage:
    """The exponential moving average of a model's weights (Polyak and Juditsky 1992), held by a second model.

    Until it has seen enough steps its memory is short, or the initial weights would linger in it: at step t the decay
    is at most (1 + t) / (10 + t).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self._averaged: list[Tensor] = list(self.model.parameters())
        self._present: list[Tensor] = list(model.parameters())
        self._buffers = list(zip(self.model.buffers(), model.buffers(), strict=True))

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self._averaged, self._present, 1 - decay)
        for averaged, present in self._buffers:
            averaged.copy_(present)


def average_of(folder: ModelFolder, names: Sequence[str], file: str) -> dict[str, Tensor]:
    """The mean of the weights of several checkpoints, summed in float64."""
    total: dict[str, Tensor] = {}
    like: dict[str, Tensor] = {}
    for name in names:
        like = read_tensors(folder, name, file)
        for key, tensor in like.items():
            total[key] = total[key] + tensor.double() if key in total else tensor.double()
    return {key: (tensor / len(names)).to(like[key].dtype) for key, tensor in total.items()}
