"""The averaging encoder: each position is the mean of the word vectors around it (Ranzato et al. 2016), and the whole
the mean of all (Iyyer et al. 2015)."""

from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.data.packing import Layout
from regard.models.encoders.encoder import Encoded, Encoder, Input, real_places
from regard.nn.dropout import Dropout
from regard.nn.embedding import TokenEmbedding
from regard.recipe import AveragingEncoding
from regard.tap import Tap


class AveragingEncoder(Encoder):
    """Has only the weights of its embedding; the tap `output` shows the features, "B S E"."""

    def __init__(
        self, settings: AveragingEncoding, size: int | None = None, shared: TokenEmbedding | None = None
    ) -> None:
        super().__init__()
        self.input_width = self.width = self.final_width = settings.embedding
        self.reach = settings.reach
        self.input = Input(size, settings.embedding, dropout=Dropout(settings.dropout), shared=shared)
        self.output = Tap("row", "source", "feature")

    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        keep = real_places(vectors, lengths)
        real = self.input.enter(vectors).masked_fill(~keep.unsqueeze(2), 0.0)
        counts = _sum_around(keep.unsqueeze(2).to(real.dtype), self.reach)
        features = self.output(_sum_around(real, self.reach) / counts.clamp_min(1.0))
        return replace(Encoded.mean(real, keep), features=features)


def _sum_around(values: Float[Tensor, "B S E"], reach: int) -> Float[Tensor, "B S E"]:
    """The sum of each position and `reach` positions on either side."""
    steps, padded = values.shape[1], F.pad(values, (0, 0, reach, reach))
    total = padded[:, :steps]
    for shift in range(1, 2 * reach + 1):
        total = total + padded[:, shift : shift + steps]
    return total
