"""Copies of models that compute otherwise than these do."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from weakref import ReferenceType, WeakKeyDictionary, ref

import torch
from torch import Tensor

from regard.decode.modules import modules_of, weights_of
from regard.models.generator import Generator
from regard.tap import Tap


class Version:
    """What tells whether weights are still those that they were; what is done to `weight.data` leaves no trace."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        # The tensor itself too: another may come to lie where it lay.
        self._known: list[tuple[ReferenceType[Tensor], int, int]] = [
            (ref(tensor), tensor.data_ptr(), tensor._version) for tensor in weights
        ]

    def is_of(self, weights: list[Tensor]) -> bool:
        return len(weights) == len(self._known) and all(
            known() is tensor and (place, changes) == (tensor.data_ptr(), tensor._version)
            for (known, place, changes), tensor in zip(self._known, weights, strict=True)
        )


class Copies:
    """What a function makes of each model, kept until weights change, and no longer than the model itself."""

    def __init__(self, make: Callable[[Generator], Generator]) -> None:
        self._make = make
        self._kept: WeakKeyDictionary[Generator, tuple[Version, Generator]] = WeakKeyDictionary()

    @torch.no_grad()
    def of(self, model: Generator) -> Generator:
        """The copy of a model as it is now."""
        weights = weights_of(model)
        if any(map(torch.is_inference, weights)):
            return self._make(model)  # nobody can tell whether those have changed
        if model in self._kept:
            version, copy = self._kept[model]
            if version.is_of(weights):
                return copy
        self._kept[model] = Version(weights), self._make(model)
        return self._kept[model][1]


def copy_of(model: Generator, *, shared: Iterable[Tensor] = ()) -> Generator:
    """Modules of its own, with the model's taps and those of its weights that are shared.

    It is never in training: whoever writes with it finds it as it should be, and need not change it while others do."""
    taps = [module for module in modules_of(model) if isinstance(module, Tap)]
    copy = deepcopy(model, {id(each): each for each in (*taps, *shared)})
    for module in modules_of(copy):
        if not isinstance(module, Tap):
            module.training = False
    return copy
