"""Parts of models: recurrent cells and stacks, blocks, embeddings, feed-forward layers."""

from regard.nn.blocks import DecoderBlock, EncoderBlock, Residual
from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.nn.feedforward import FeedForward

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "Residual",
    "TokenEmbedding",
    "TokenVectors",
]
