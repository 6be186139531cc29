"""All gradients in one flat buffer, of which each parameter's gradient is a view.

Clearing, summing over processes, the norm and scaling are one call each, and the addresses never change, which a
captured step needs. At its end the buffer has a few extra numbers that are summed over processes along with them.
"""

from collections.abc import Collection, Iterable, Sequence

import torch
from torch import Tensor, nn

from regard.device import is_host

ALIGNMENT = 64
"""Alignment of gradients in elements, for vectorized kernels."""


class Gradients:
    """The gradients of parameters of one dtype and device, and `extras` more numbers."""

    def __init__(self, parameters: Iterable[nn.Parameter], extras: int) -> None:
        self.parameters = list(parameters)
        places = [0]
        for parameter in self.parameters:
            places.append(places[-1] + -(-parameter.numel() // ALIGNMENT) * ALIGNMENT)
        first = self.parameters[0]
        self.everything = torch.zeros(places[-1] + extras, dtype=first.dtype, device=first.device)
        self.flat, self.extras = self.everything[: places[-1]], self.everything[places[-1] :]
        self.places: list[Tensor] = []
        for parameter, place in zip(self.parameters, places, strict=False):
            parameter.grad = self.flat[place : place + parameter.numel()].view_as(parameter)
            self.places.append(parameter.grad)
        self._every = dict(zip(self.parameters, self.places, strict=True))

    def freeze(self, frozen: Collection[nn.Parameter]) -> None:
        """From now on only all other parameters have gradients. Optimizers pass over those that have none: they change
        neither the weights nor their state."""
        for parameter, place in self._every.items():
            parameter.requires_grad_(parameter not in frozen)
            parameter.grad = place if parameter.requires_grad else None
        self.parameters = [parameter for parameter in self._every if parameter.requires_grad]
        self.places = [self._every[parameter] for parameter in self.parameters]

    def clear(self) -> None:
        self.everything.zero_()

    def add(self, found: Sequence[Tensor | None]) -> None:
        """Adds a gradient of each parameter in few kernels; None is zero."""
        pairs = [(place, new) for place, new in zip(self.places, found, strict=True) if new is not None]
        torch._foreach_add_([place for place, _ in pairs], [new for _, new in pairs])

    def norm(self) -> Tensor:
        """The Euclidean norm over all parameters; padding is zero."""
        # A CPU sums squares sequentially: over millions of them, the rounding error would be a thousandth.
        flat = self.flat
        norms = torch.linalg.vector_norm(flat.view(-1, ALIGNMENT), dim=1) if is_host(flat.device) else flat
        norm: Tensor = torch.linalg.vector_norm(norms)
        return norm
