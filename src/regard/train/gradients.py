"""All gradients in one flat buffer, of which each parameter's gradient is a view.

One call clears them, one sums them over processes, one takes their norm, one scales them; and they never move, which
a captured step needs. Behind them the buffer has a few numbers that are summed over processes together with them.
"""

from collections.abc import Iterable, Sequence

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
        self.places: list[Tensor] = []
        for parameter, place in zip(self.parameters, places, strict=False):
            parameter.grad = self.flat[place : place + parameter.numel()].view_as(parameter)
            self.places.append(parameter.grad)

    def clear(self) -> None:
        self.everything.zero_()

    def add(self, found: Sequence[Tensor | None]) -> None:
        """Adds a gradient of each parameter, all in a few calls; None is zero."""
        pairs = [(place, new) for place, new in zip(self.places, found, strict=True) if new is not None]
        torch._foreach_add_([place for place, _ in pairs], [new for _, new in pairs])

    def norm(self) -> Tensor:
        """The Euclidean norm over all parameters; what pads the buffer is zero and does not count."""
        # A CPU adds the squares of a row one by one: of millions of them, a thousandth would be lost to rounding.
        flat = self.flat
        norms = torch.linalg.vector_norm(flat.view(-1, ALIGNMENT), dim=1) if flat.device.type == "cpu" else flat
        norm: Tensor = torch.linalg.vector_norm(norms)
        return norm
