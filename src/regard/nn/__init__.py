"""Parts of models: recurrent cells and stacks, blocks, embeddings, feed-forward layers."""

from regard.nn.embedding import TokenEmbedding, TokenVectors

__all__ = ["TokenEmbedding", "TokenVectors"]
