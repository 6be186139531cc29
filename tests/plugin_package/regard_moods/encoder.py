"""An encoder of one's own: a linear map of each word vector, and the mean of them."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.packing import Layout
from regard.models.encoders.encoder import Encoded, Encoder, Input, real_places
from regard.nn.embedding import TokenEmbedding
from regard.tap import Tap
from regard_moods.recipe import ReversedEncoding


class ReversedEncoder(Encoder):
    def __init__(
        self, settings: ReversedEncoding, size: int | None = None, shared: TokenEmbedding | None = None
    ) -> None:
        super().__init__()
        self.input_width = self.width = self.final_width = settings.width
        self.input = Input(size, settings.width, dropout=nn.Identity(), shared=shared)
        self.map = nn.Linear(settings.width, settings.width)
        self.output = Tap("row", "source", "feature")

    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        return Encoded.mean(self.output(self.map(self.input.enter(vectors))), real_places(vectors, lengths))
