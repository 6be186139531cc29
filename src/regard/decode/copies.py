"""Copies of models that compute otherwise than these do."""

from collections.abc import Iterable
from copy import deepcopy
from weakref import ReferenceType, ref

from torch import Tensor

from regard.decode.modules import modules_of
from regard.models.generator import Generator
from regard.tap import Tap


class Version:
    """Tells whether weights were replaced or changed in place. What fused optimizers do, and what is done to
    `weight.data`, raises no version and goes unnoticed."""

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


def copy_of(model: Generator, *, shared: Iterable[Tensor] = ()) -> Generator:
    """Modules of its own, with the model's taps and those of its weights that are shared.

    It is never in training: whoever writes with it finds it as it should be, and need not change it while others do."""
    taps = [module for module in modules_of(model) if isinstance(module, Tap)]
    copy = deepcopy(model, {id(each): each for each in (*taps, *shared)})
    for module in modules_of(copy):
        if not isinstance(module, Tap):
            module.training = False
    return copy
