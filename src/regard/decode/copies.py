"""Copies of models that compute otherwise than these do."""

from collections.abc import Callable
from copy import deepcopy
from weakref import WeakKeyDictionary

import torch

from regard.decode.modules import modules_of, weights_of
from regard.models.generator import Generator
from regard.tap import Tap

Version = list[tuple[int, int]]


class Copies:
    """What a function makes of each model, kept until weights change, and no longer than the model itself."""

    def __init__(self, make: Callable[[Generator], Generator]) -> None:
        self._make = make
        self._kept: WeakKeyDictionary[Generator, tuple[Version, Generator]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._kept)

    @torch.no_grad()
    def of(self, model: Generator) -> Generator:
        """The copy of a model as it is now."""
        weights = weights_of(model)
        if any(map(torch.is_inference, weights)):
            return self._make(model)  # nobody can tell whether those have changed
        version = [(tensor.data_ptr(), tensor._version) for tensor in weights]
        known, copy = self._kept.get(model, (None, None))
        if copy is None or known != version:
            copy = self._make(model)
            self._kept[model] = version, copy
        return copy


def sharing_copy(model: Generator) -> Generator:
    """Modules of its own, in which weights can be replaced, with the model's weights and taps."""
    taps = [module for module in modules_of(model) if isinstance(module, Tap)]
    return deepcopy(model, {id(shared): shared for shared in (*taps, *weights_of(model))})
