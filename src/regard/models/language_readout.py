"""The readout of language models."""

from torch import nn

from regard.models.adaptive import AdaptiveReadout
from regard.models.generator import Readout
from regard.models.readout import LinearReadout
from regard.nn.embedding import TokenEmbedding
from regard.recipe import NeuralModel


def build_toward(settings: NeuralModel, width: int, embedding: TokenEmbedding) -> nn.Module:
    """Maps features of width `width` to the width that a tied readout needs (Press and Wolf 2017).

    The map is linear, so it only factorizes the matrix of the softmax.
    """
    if not settings.tie or width == embedding.width:
        return nn.Identity()
    linear = nn.Linear(width, embedding.width, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear


def build_readout(settings: NeuralModel, width: int, embedding: TokenEmbedding) -> Readout:
    """The readout of features of width `width`, after `build_toward`."""
    if settings.tie:
        return LinearReadout(embedding.width, embedding.size, shared=embedding)
    if settings.cutoffs:
        return AdaptiveReadout(width, embedding.size, settings.cutoffs, shrink=settings.shrink)
    return LinearReadout(width, embedding.size)
