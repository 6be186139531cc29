"""Parts of models: recurrent cells and stacks, blocks, embeddings, feed-forward layers."""

from regard.nn.blocks import DecoderBlock, EncoderBlock, Residual
from regard.nn.cells import CELLS, GRU, LSTM, RNN, Cell, CellState
from regard.nn.dropout import Dropout, FeatureDropout, LayerDrop, WordDropout
from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.nn.feedforward import FeedForward
from regard.nn.recurrent import CONNECTIONS, Connection, RecurrentStack, RecurrentState

__all__ = [
    "CELLS",
    "CONNECTIONS",
    "GRU",
    "LSTM",
    "RNN",
    "Cell",
    "CellState",
    "Connection",
    "DecoderBlock",
    "Dropout",
    "EncoderBlock",
    "FeatureDropout",
    "FeedForward",
    "LayerDrop",
    "RecurrentStack",
    "RecurrentState",
    "Residual",
    "TokenEmbedding",
    "TokenVectors",
    "WordDropout",
]
