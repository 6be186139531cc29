"""Copies of a model for decoding, and whether they are out of date."""

from collections.abc import Iterable
from copy import deepcopy
from weakref import ReferenceType, ref

from torch import Tensor

from regard.decode.modules import modules_of
from regard.models.generator import Generator
from regard.tap import Tap


class Version:
    """Tells whether weights were replaced or changed in place. Fused optimizers and writes to `weight.data` do not bump
    a tensor's version and go unnoticed."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        # The tensor itself too: another may be allocated at the same address.
        self._known: list[tuple[ReferenceType[Tensor], int, int]] = [
            (ref(tensor), tensor.data_ptr(), tensor._version) for tensor in weights
        ]

    def is_of(self, weights: list[Tensor]) -> bool:
        return len(weights) == len(self._known) and all(
            known() is tensor and (address, version) == (tensor.data_ptr(), tensor._version)
            for (known, address, version), tensor in zip(self._known, weights, strict=True)
        )


def copy_of(model: Generator, *, shared: Iterable[Tensor] = ()) -> Generator:
    """A copy that shares the model's taps and the weights in `shared`.

    It is in evaluation mode, so that threads which decode with it need not switch it."""
    taps = [module for module in modules_of(model) if isinstance(module, Tap)]
    copy = deepcopy(model, {id(each): each for each in (*taps, *shared)})
    for module in modules_of(copy):
        if not isinstance(module, Tap):
            module.training = False
    return copy
