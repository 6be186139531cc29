"""The outputs of a model on one example, as functions of its inputs and activations.

    outputs = model.outputs("Das ist ein Haus .")            # of any trained model
    outputs.labels[outputs.axis]                             # where it chooses: here, each token that it writes
    outputs.log_probs(2)                                     # of every choice there, "1 C", with gradients
    with regard.intervene(model, "decoder.*.weights", change):
        outputs.log_probs(2)                                 # what they are then
    outputs.log_probs(2, without=[(0,), (0, 1)])             # without some positions of what it reads, "2 C"

Rows of one call do not influence each other, so many changes of an example are tried at once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.decode.modules import evaluating
from regard.device import device_of
from regard.errors import UsageError, one_of
from regard.models.generator import Generator

Item = TypeVar("Item")
NOTHING: tuple[tuple[int, ...], ...] = ((),)
AT_ONCE = 4096
"""Positions that are read together, over all rows."""


@dataclass(frozen=True)
class Input:
    """Where the vectors of a model's input pass."""

    tap: str
    first: int = 0
    """The position of the first of them along the axis, if others precede it."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """A model's choices at each of several places, and their probabilities."""

    model: nn.Module
    axis: str
    """The axis of the places."""
    labels: Mapping[str, tuple[str, ...]]
    """Labels by axis, of inputs and places."""
    chosen: Sequence[int]
    """The choice at each place: the given target, or else the model's own choice."""
    name: Callable[[int], str]
    """The text of a choice."""
    inputs: Mapping[str, Input]
    """The model's inputs by axis. The first is the default for explanations."""
    run: Callable[[int, str, Sequence[Collection[int]]], Float[Tensor, "R C"]]
    """Log-probabilities at a place, for each row without the given positions along an axis."""
    words: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    """By axis: the word that each position is a piece of; without them, each is a word."""
    made_at: Mapping[str, int] = field(default_factory=dict)
    """By axis of queries: the position at which the choice at the first place is made."""
    bound: Callable[[int], Collection[int]] = lambda place: ()
    """Positions that the choice at a place is about, which therefore cannot be removed."""
    title: str = ""

    def __len__(self) -> int:
        return len(self.chosen)

    def __repr__(self) -> str:
        return f"<Outputs: {self.title!r}, {len(self)} along {self.axis!r}>"

    def log_probs(
        self, place: int, *, axis: str | None = None, without: Sequence[Collection[int]] = NOTHING
    ) -> Float[Tensor, "R C"]:
        """Log-probabilities of all choices at a place, for each row without the given positions along an input axis."""
        axis = self.input_axis(axis) if self.inputs else ""
        with evaluating(self.model):
            return self.run(self.place(place), axis, without)

    @torch.no_grad()
    def probabilities(
        self, place: int, *, axis: str | None = None, without: Sequence[Collection[int]] = NOTHING
    ) -> Float[Tensor, "R C"]:
        """The same as probabilities, without gradients, any number of rows."""
        count = self.rows_at_once
        parts = [without[first : first + count] for first in range(0, len(without), count)]
        return torch.cat([self.log_probs(place, axis=axis, without=part).exp() for part in parts])

    @property
    def rows_at_once(self) -> int:
        return max(1, AT_ONCE // max(map(len, self.labels.values())))

    def place(self, place: int) -> int:
        """A place counted from 0, or from the end if negative."""
        if not -len(self) <= place < len(self):
            raise UsageError(
                f"there is no output {place}: this example has {len(self)} along {self.axis!r}, counted from 0"
            )
        return place % len(self)

    def choice(self, place: int, choice: int | str | None = None) -> int:
        """The number of a choice at a place: for a text, the likeliest with that label; for None, the one chosen."""
        if choice is None:
            return self.chosen[self.place(place)]
        likely = self.probabilities(place)[0]
        if isinstance(choice, str):
            ordered: list[int] = likely.argsort(descending=True).tolist()
            found = next((each for each in ordered if self.name(each) == choice), None)
            if found is None:
                best = one_of([self.name(each) for each in ordered[:5]], choice)
                raise UsageError(f"{choice!r} is not a choice at {place}; the likeliest there are {best}")
            return found
        if not 0 <= choice < len(likely):
            raise UsageError(f"there is no choice {choice}: there are {len(likely):,} here, counted from 0")
        return choice

    def input_axis(self, axis: str | None = None) -> str:
        """An axis of the inputs; the first without one."""
        if not self.inputs:
            raise UsageError("this model reads no vectors, so that nothing can be said of gradients or inputs")
        if axis is not None and axis not in self.inputs:
            raise UsageError(f"this model reads nothing along {axis!r}; it reads along {one_of(self.inputs, axis)}")
        return axis or next(iter(self.inputs))

    def length(self, axis: str, place: int) -> int:
        """Number of positions along an axis when the choice at a place is made; along `past`, those up to it."""
        return self.place(place) + 1 if axis == "past" else len(self.labels[axis])

    def removable(self, place: int, axis: str) -> list[list[int]]:
        """The positions of each word that can be removed from the example."""
        length = self.length(axis, place)
        words = self.words.get(axis, tuple(range(len(self.labels[axis]))))[:length]
        bound = {words[position] for position in self.bound(self.place(place))}
        each = dict.fromkeys(word for word in words if word is not None and word not in bound)
        return [[position for position, word in enumerate(words) if word == wanted] for wanted in each]

    def told(self, place: int, choice: int | str | None = None) -> str:
        """The name of an output, in words."""
        place = self.place(place)
        label, name = self.labels[self.axis][place], self.name(self.choice(place, choice))
        if label.strip() == name.strip():  # the first word of a text has no space before it
            return f"{label!r}"
        return f"{name!r}" if len(self) == 1 else f"{name!r} for {label!r}"


def next_log_probs(model: Generator, source: Padded, given: Sequence[Sequence[int]]) -> Float[Tensor, "R C"]:
    """Log-probabilities of a generator's next token after each of several prefixes."""
    device = device_of(model)
    read = Padded.of([list(row) for row in given]).to(device)
    features, state = model.advance(read.tokens, model.start(source.to(device), read.tokens.shape[1]))
    last = features[torch.arange(len(given), device=device), read.lengths - 1].unsqueeze(1)
    return model.readout_of(state).logits(last)[:, 0].float().log_softmax(-1)


def without_positions(row: Sequence[Item], positions: Collection[int]) -> list[Item]:
    """A row without some positions."""
    return [item for position, item in enumerate(row) if position not in positions]


def log_of(probabilities: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """Finite logarithms, with finite gradients."""
    return probabilities.float().clamp_min(torch.finfo(torch.float32).tiny).log()
