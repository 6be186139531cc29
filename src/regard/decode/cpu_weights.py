"""Models whose weights are laid out for fast products on a CPU."""

from torch import Tensor, nn

from regard.decode.modules import modules_of
from regard.decode.packed_weights import PackedWeight, can_pack
from regard.decode.weight_formats import with_weights_as
from regard.models import RecurrentTranslator
from regard.models.generator import Generator
from regard.models.readout import LinearReadout
from regard.nn.cells import Cell


def has_matrices(model: Generator) -> bool:
    """Whether there are weights to lay out."""
    return any(isinstance(module, nn.Linear | LinearReadout | Cell) for module in modules_of(model))


def laid_out(model: Generator) -> Generator:
    """A copy with the same values laid out for a CPU; it shares everything else with the model, taps included."""
    copy = with_weights_as(model, lambda matrix: PackedWeight.of(matrix) if can_pack(matrix.dtype) else matrix)
    decoders = [module.decoder for module in modules_of(copy) if isinstance(module, RecurrentTranslator)]
    for cell in (module for decoder in decoders for module in modules_of(decoder) if isinstance(module, Cell)):
        cell.input_weight, cell.hidden_weight = map(_by_inputs, (cell.input_weight, cell.hidden_weight))
    return copy


def _by_inputs(weight: Tensor) -> nn.Parameter:
    """The same matrix in column-major order, which needs no repacking for few rows and which torch's cells accept."""
    return nn.Parameter(weight.t().contiguous().t(), requires_grad=False)
