"""Weights laid out for steps of decoding on a CPU.

A linear map holds the weights of each output side by side. Given a hundred rows or fewer to multiply, as a step is, a
processor is faster when the weights of each input are: nothing has to be packed first.
"""

from copy import deepcopy
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.decode.modules import modules_of, weights_of
from regard.models import RecurrentTranslator, TransformerTranslator
from regard.models.generator import Generator
from regard.models.readout import LinearReadout
from regard.nn.cells import Cell
from regard.tap import Tap

Version = list[tuple[int, int]]
_COPIES: WeakKeyDictionary[Generator, tuple[Version, Generator]] = WeakKeyDictionary()


@torch.no_grad()
def laid_out(model: Generator) -> Generator:
    """A translator with the same numbers whose decoder is laid out, kept until weights change; others as they are.

    All that is not laid out is the model's own, as its taps are.
    """
    weights = weights_of(model)
    if not isinstance(model, TransformerTranslator | RecurrentTranslator) or any(map(torch.is_inference, weights)):
        return model
    version = [(tensor.data_ptr(), tensor._version) for tensor in weights]
    known, copy = _COPIES.get(model, (None, None))
    if copy is None or known != version:
        copy = _laid_out(model, weights)
        _COPIES[model] = version, copy
    return copy


def _laid_out(model: TransformerTranslator | RecurrentTranslator, weights: list[Tensor]) -> Generator:
    taps = [module for module in modules_of(model) if isinstance(module, Tap)]
    copy = deepcopy(model, {id(shared): shared for shared in (*taps, *weights)})
    for module in modules_of(copy.decoder):
        if isinstance(module, nn.Linear):
            module.weight = _by_inputs(module.weight)
        elif isinstance(module, Cell):
            module.input_weight, module.hidden_weight = map(_by_inputs, (module.input_weight, module.hidden_weight))
    if isinstance(copy.readout, LinearReadout):
        copy.readout.own(_by_inputs(copy.readout.weight))
    return copy


def _by_inputs(weight: Tensor) -> nn.Parameter:
    """The same matrix, its columns one after another in memory."""
    return nn.Parameter(weight.t().contiguous().t(), requires_grad=False)
