"""A translator of one's own: the mean of the source's vectors beside the last word's, through one layer."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.models.generator import Generator, State
from regard.models.readout import LinearReadout
from regard.nn.embedding import TokenEmbedding
from regard.tap import Tap
from regard_moods.recipe import MeanModel


@dataclass(frozen=True)
class MeanState(State):
    mean: Float[Tensor, "N E"]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return replace(self, mean=self.mean.index_select(0, rows))

    def copy(self) -> Self:
        return self


class MeanTranslator(Generator):
    def __init__(self, settings: MeanModel, source_size: int, target_size: int) -> None:
        super().__init__()
        self.source = TokenEmbedding(source_size, settings.width)
        self.target = TokenEmbedding(target_size, settings.width)
        self.join = nn.Linear(2 * settings.width, settings.width)
        self.readout = LinearReadout(settings.width, target_size)
        self.output = Tap("row", "target", "feature")

    def start(self, source: Padded, capacity: int) -> MeanState:
        keep = source.keep.unsqueeze(-1)
        return MeanState((self.source(source.tokens) * keep).sum(1) / keep.sum(1))

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], MeanState]:
        assert isinstance(state, MeanState)
        vectors = self.target(tokens)
        joined = torch.cat([vectors, state.mean.unsqueeze(1).expand_as(vectors)], -1)
        return self.output(torch.tanh(self.join(joined))), state
