"""The window encoder: each layer sees the positions around each position (Collobert et al. 2011).

With x the outputs of the layer below:  y(i) = tanh(W [x(i − r); …; x(i + r)] + b), with zero padding at both ends.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.packing import Layout
from regard.models.encoders.encoder import Encoded, Encoder, Input, real_places
from regard.nn.dropout import Dropout
from regard.nn.embedding import TokenEmbedding
from regard.recipe import WindowEncoding
from regard.tap import Tap


class WindowEncoder(Encoder):
    """The whole is the mean of the features; the tap `output` shows these, "B S E"."""

    def __init__(self, settings: WindowEncoding, size: int | None = None, shared: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.input_width, self.reach = settings.embedding, settings.reach
        self.width = self.final_width = settings.hidden
        self.input = Input(size, settings.embedding, dropout=Dropout(settings.dropout), shared=shared)
        below = [settings.embedding, *[settings.hidden] * (settings.layers - 1)]
        self.layers = nn.ModuleList(nn.Linear((2 * settings.reach + 1) * width, settings.hidden) for width in below)
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.dropout = Dropout(settings.dropout)
        self.output = Tap("row", "source", "feature")

    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        keep = real_places(vectors, lengths)
        stream = self.input.enter(vectors)
        for layer in self.layers:
            stream = self.dropout(torch.tanh(layer(self._windows(stream.masked_fill(~keep.unsqueeze(2), 0.0)))))
        return Encoded.mean(self.output(stream), keep)

    def _windows(self, stream: Float[Tensor, "B S I"]) -> Float[Tensor, "B S W"]:
        """The concatenated vectors around each position."""
        padded = F.pad(stream, (0, 0, self.reach, self.reach))
        return torch.cat([padded[:, shift : shift + stream.shape[1]] for shift in range(2 * self.reach + 1)], -1)
