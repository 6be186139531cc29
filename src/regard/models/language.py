"""What every trained language model has: a generator without a source, whose state goes on from one text segment to the
next.

Long text is read in segments. What a model remembers at the end of one is its carry, tensors by name, one row for each
row of text, of shapes that never change; so a carry can be saved, and a step that goes on from it can be captured. In
every carry a row of zeros means that nothing has been read yet: whoever begins another text in a row clears it.
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


@dataclass(frozen=True)
class Reading:
    """What a model made of some tokens."""

    features: Float[Tensor, "N n F"]
    """What the readout reads."""
    state: State
    raw: Float[Tensor, "N n H"]
    """The output of the last layer."""
    dropped: Float[Tensor, "N n H"]
    """The same after dropout."""


class LanguageModel(Generator):
    """A generator of text that continues what it has read; of a source, it takes the number of rows alone."""

    output_width: int
    """Width of the last layer's output."""

    @abstractmethod
    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        """Reads n ≥ 1 more tokens in every row, as `advance` does, and tells more. The given state is consumed."""

    @abstractmethod
    def blank(self, rows: int) -> dict[str, Tensor]:
        """The carry before any text: zeros."""

    @abstractmethod
    def carried(self, state: State) -> dict[str, Tensor]:
        """What goes on into the next segment, detached, in the shapes and number formats of `blank`."""

    @abstractmethod
    def resume(self, carry: Carry, capacity: int) -> State:
        """The state that goes on from a carry, for at most `capacity` more tokens."""

    def start(self, source: Padded, capacity: int) -> State:
        return self.resume(self.blank(len(source.tokens)), capacity)

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        reading = self.read(tokens, state)
        return reading.features, reading.state

    @property
    def like(self) -> Tensor:
        """A tensor of the device and number format that carries have."""
        return next(self.parameters())


def cleared(carry: Carry, rows: Bool[Tensor, " N"]) -> dict[str, Tensor]:
    """A carry with nothing read yet in the rows that begin another text."""
    return {
        name: value.masked_fill(rows.view(-1, *[1] * (value.ndim - 1)), 0 if value.dtype != torch.bool else False)
        for name, value in carry.items()
    }
