"""The recurrent encoder, uni- or bidirectional, and the parts that recurrent decoders share with it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.packing import Layout
from regard.models.encoders.encoder import Encoded, Encoder, Input, real_places
from regard.nn.dropout import FeatureDropout
from regard.nn.embedding import TokenEmbedding
from regard.nn.recurrent import RecurrentStack
from regard.recipe import RecurrentEncoding, RecurrentLayers, RecurrentModel
from regard.tap import Tap


class TokenInput(Input):
    """Embedding with dropout of whole words and of features."""

    def __init__(
        self,
        settings: RecurrentModel | RecurrentLayers | RecurrentEncoding,
        size: int | None,
        shared: TokenEmbedding | None = None,
        *,
        scale: float | None = None,
    ) -> None:
        rates = settings.dropout
        dropout = FeatureDropout(rates.input, variational=rates.variational)
        super().__init__(
            size, settings.embedding, scale=scale, word_dropout=rates.embedding, dropout=dropout, shared=shared
        )


class RecurrentEncoder(Encoder):
    """The whole is the last hidden state of the top layer; the tap `output` shows the features, "B S E"."""

    def __init__(
        self, settings: RecurrentEncoding, size: int | None = None, shared: TokenEmbedding | None = None
    ) -> None:
        super().__init__()
        self.input_width = settings.embedding
        self.input = TokenInput(settings, size, shared)
        self.stack = build_stack(settings, settings.embedding, settings.layers, bidirectional=settings.bidirectional)
        self.width = self.stack.width
        self.final_width = settings.hidden * (2 if settings.bidirectional else 1)
        self.output = Tap("row", "source", "feature")

    @property
    def start_widths(self) -> tuple[int, ...]:
        layers = self.stack.initial(torch.empty(0)).layers
        return tuple(sum(part.shape[-1] for part in layer) for layer in layers)

    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        features, last = self.stack(self.input.enter(vectors), lengths)
        states = tuple(torch.cat(layer, -1) for layer in last.layers)
        # The hidden state of each direction comes first; an LSTM's cell state follows.
        final = torch.cat(last.layers[-1][:: len(self.stack.state_names)], -1)
        return Encoded(self.output(features), real_places(vectors, lengths), final, states)


def build_stack(
    settings: RecurrentModel | RecurrentLayers | RecurrentEncoding,
    input_width: int,
    layers: int,
    *,
    bidirectional: bool = False,
    top: int | None = None,
) -> RecurrentStack:
    """The recurrent layers; the last has width `top` if given."""
    return RecurrentStack(
        settings.cell,
        input_width,
        settings.hidden,
        layers,
        bidirectional=bidirectional,
        connection=settings.connection,
        between=settings.dropout.between,
        weight_drop=settings.dropout.recurrent,
        variational=settings.dropout.variational,
        top=top,
    )
