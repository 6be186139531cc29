"""The interface of language models: generators without a source, whose state carries over from segment to segment.

Long text is read in segments. The state at the end of one is its carry: named tensors of fixed shape, one row for each
row of text, so that it can be saved, and a step that starts from it can be captured. A row of zeros means that nothing
has been read yet; to begin another text in a row, clear it.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.data.batch import Padded
from regard.models.generator import Generator, State

Carry = Mapping[str, Tensor]
"""Named state carried over from one batch to the next, and saved."""


@dataclass(frozen=True)
class Reading:
    """The result of reading some tokens."""

    features: Float[Tensor, "N n F"]
    """The input of the readout."""
    state: State
    raw: Float[Tensor, "N n H"]
    """The output of the last layer."""
    dropped: Float[Tensor, "N n H"]
    """The same after dropout."""


class LanguageModel(Generator):
    """A generator that continues the text it has read; of a source, it uses only the number of rows."""

    output_width: int
    """Width of the last layer's output."""

    @abstractmethod
    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        """Reads n ≥ 1 more tokens in every row, as `advance` does, but returns more. The given state is consumed."""

    @abstractmethod
    def blank(self, rows: int) -> dict[str, Tensor]:
        """The carry before any text: zeros."""

    @abstractmethod
    def carried(self, state: State) -> dict[str, Tensor]:
        """What carries over to the next segment, detached, in the shapes and dtypes of `blank`."""

    @abstractmethod
    def resume(self, carry: Carry, capacity: int) -> State:
        """The state that continues from a carry, for at most `capacity` more tokens."""

    def start(self, source: Padded, capacity: int) -> State:
        return self.resume(self.blank(len(source.tokens)), capacity)

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        reading = self.read(tokens, state)
        return reading.features, reading.state

    @property
    def like(self) -> Tensor:
        """A tensor with the device and dtype of carries."""
        return next(self.parameters())


def cleared(carry: Carry, rows: Bool[Tensor, " N"]) -> dict[str, Tensor]:
    """A carry with the given rows, which begin another text, set to zero."""
    return {
        name: value.masked_fill(rows.view(-1, *[1] * (value.ndim - 1)), 0 if value.dtype != torch.bool else False)
        for name, value in carry.items()
    }
