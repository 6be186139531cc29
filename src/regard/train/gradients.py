"""All gradients in one flat buffer, of which each parameter's gradient is a view.

One call clears them, one sums them over processes, one takes their norm, one scales them; and they never move, which
a captured step needs. Behind them the buffer has a few numbers that are summed over processes together with them.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

ALIGNMENT = 64
"""Elements to which the place of a gradient is rounded up, so that kernels can read it in whole words."""


class Gradients:
    """The gradients of some parameters of one kind, and `extras` more numbers."""

    def __init__(self, parameters: Iterable[nn.Parameter], extras: int) -> None:
        self.parameters = list(parameters)
        places = [0]
        for parameter in self.parameters:
            places.append(places[-1] + -(-parameter.numel() // ALIGNMENT) * ALIGNMENT)
        first = self.parameters[0]
        self.everything = torch.zeros(places[-1] + extras, dtype=first.dtype, device=first.device)
        self.flat, self.extras = self.everything[: places[-1]], self.everything[places[-1] :]
        for parameter, place in zip(self.parameters, places, strict=False):
            parameter.grad = self.flat[place : place + parameter.numel()].view_as(parameter)

    def clear(self) -> None:
        self.everything.zero_()

    def norm(self) -> Tensor:
        """The Euclidean norm over all parameters; what pads the buffer is zero and does not count."""
        norm: Tensor = torch.linalg.vector_norm(self.flat)
        return norm
