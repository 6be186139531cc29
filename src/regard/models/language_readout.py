"""The way from features to words that all language models share."""

from torch import nn

from regard.models.adaptive import AdaptiveReadout
from regard.models.generator import Readout
from regard.models.readout import LinearReadout
from regard.nn.embedding import TokenEmbedding
from regard.recipe import NeuralModel


def build_toward(settings: NeuralModel, width: int, embedding: TokenEmbedding) -> nn.Module:
    """From features of width `width` to those that the readout reads.

    A readout that shares its vectors with the embedding (Press and Wolf 2017) reads features of their width; others
    are mapped to it, linearly, so that this is a factor of the softmax's matrix and nothing more.
    """
    if not settings.tie or width == embedding.width:
        return nn.Identity()
    linear = nn.Linear(width, embedding.width, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear


def build_readout(settings: NeuralModel, width: int, embedding: TokenEmbedding) -> Readout:
    """Reads what `build_toward` made of features of width `width`, into the words of the embedding."""
    if settings.tie:
        return LinearReadout(embedding.width, embedding.size, shared=embedding)
    if settings.cutoffs:
        return AdaptiveReadout(width, embedding.size, settings.cutoffs, shrink=settings.shrink)
    return LinearReadout(width, embedding.size)
