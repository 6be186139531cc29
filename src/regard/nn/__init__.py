"""Parts of models: recurrent cells and stacks, blocks, embeddings, feed-forward layers."""

from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.nn.feedforward import FeedForward

__all__ = ["FeedForward", "TokenEmbedding", "TokenVectors"]
