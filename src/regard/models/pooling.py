"""Pooling: one vector for a text, from the features of its words. Padding changes nothing; an empty text gives zeros,
or the encoder's `final` vector of an empty sequence."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.normalizers import as_normalizer
from regard.attention.scores import SCORES
from regard.models.encoders import Encoded, Encoder
from regard.recipe import POOLINGS as NAMES
from regard.recipe import PoolingTable
from regard.tap import Tap


class Pooling(nn.Module, ABC):
    """Built from its table and the encoder whose features it pools."""

    def __init__(self, settings: PoolingTable, encoder: Encoder) -> None:
        super().__init__()
        self.width = encoder.width

    @abstractmethod
    def forward(self, encoded: Encoded) -> Float[Tensor, "B F"]: ...


class LastPooling(Pooling):
    """The `final` vector of the encoder: for recurrent ones, the last state of each direction."""

    def __init__(self, settings: PoolingTable, encoder: Encoder) -> None:
        super().__init__(settings, encoder)
        self.width = encoder.final_width

    def forward(self, encoded: Encoded) -> Float[Tensor, "B F"]:
        return encoded.final


class MeanPooling(Pooling):
    """The mean of the features."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B F"]:
        return Encoded.mean(encoded.features, encoded.keep).final


class MaxPooling(Pooling):
    """The largest of each feature (Collobert et al. 2011)."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "B F"]:
        keep = encoded.keep.unsqueeze(2)
        largest = encoded.features.masked_fill(~keep, -torch.inf).amax(1)
        return largest.masked_fill(~keep.any(1), 0.0)


class AttentionPooling(Pooling):
    """The mean of the features weighed by how well each matches a learned query (Yang et al. 2016). The tap `weights`
    shows the weight of each word."""

    def __init__(self, settings: PoolingTable, encoder: Encoder) -> None:
        super().__init__(settings, encoder)
        self.query = nn.Parameter(torch.randn(1, self.width) * self.width**-0.5)
        self.score = SCORES[settings.score](self.width, self.width, hidden=settings.hidden)
        self.normalizer = as_normalizer(settings.normalizer)
        self.weights = Tap("row", "source")

    def forward(self, encoded: Encoded) -> Float[Tensor, "B F"]:
        scores = self.score(self.query.expand(len(encoded.features), 1, -1), encoded.features).squeeze(1)
        weights = self.weights(self.normalizer(scores, encoded.keep))
        return torch.bmm(weights.unsqueeze(1).to(encoded.features.dtype), encoded.features).squeeze(1)


POOLINGS: Mapping[str, type[Pooling]] = NAMES
