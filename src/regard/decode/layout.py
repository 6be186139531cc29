"""Weights laid out for steps of decoding on a CPU.

A linear map holds the weights of each output side by side. Given a hundred rows or fewer to multiply, as a step is, a
processor is faster when the weights of each input are: nothing has to be packed first.
"""

import torch
from torch import Tensor, nn

from regard.decode.copies import Copies, copy_of
from regard.decode.modules import modules_of, weights_of
from regard.models import RecurrentTranslator, TransformerTranslator
from regard.models.generator import Generator
from regard.models.readout import LinearReadout
from regard.nn.cells import Cell


def laid_out(model: Generator) -> Generator:
    """A translator with the same numbers whose decoder is laid out, kept until weights change; others as they are.

    All that is not laid out is the model's own, as its taps are.
    """
    if not isinstance(model, TransformerTranslator | RecurrentTranslator):
        return model
    # Whether those of inference mode change nobody can tell, and a new copy for each text takes longer than it saves.
    return model if any(map(torch.is_inference, weights_of(model))) else _COPIES.of(model)


def _laid_out(model: Generator) -> Generator:
    copy = copy_of(model, shared=weights_of(model))
    assert isinstance(copy, TransformerTranslator | RecurrentTranslator)
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


_COPIES = Copies(_laid_out)
