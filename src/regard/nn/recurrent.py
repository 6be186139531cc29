"""Stacks of recurrent layers, uni- or bidirectional, with connections around the layers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import UsageError, one_of
from regard.nn.cells import CELLS, Cell, CellState, Passage
from regard.nn.dropout import FeatureDropout
from regard.recipe import names


@dataclass(frozen=True)
class RecurrentState:
    """The state of each layer of a stack, lowest first; in a bidirectional one, forward parts first."""

    layers: tuple[CellState, ...]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)(tuple(tuple(part.index_select(0, rows) for part in layer) for layer in self.layers))

    def copy(self) -> Self:
        return type(self)(tuple(tuple(part.clone() for part in layer) for layer in self.layers))


class Connection(nn.Module, ABC):
    """Joins the output of a layer with its input; works on any number of leading axes."""

    def __init__(self, input_width: int, output_width: int) -> None:
        super().__init__()
        self.width = output_width

    @abstractmethod
    def forward(self, below: Float[Tensor, "*N I"], above: Float[Tensor, "*N H"]) -> Float[Tensor, "*N O"]:
        """The input of the next layer, from a layer's input `below` and its output `above`."""


class PlainConnection(Connection):
    """The output alone."""

    def forward(self, below: Float[Tensor, "*N I"], above: Float[Tensor, "*N H"]) -> Float[Tensor, "*N O"]:
        return above


class ResidualConnection(Connection):
    """The sum of both (He et al. 2016; between recurrent layers, Wu et al. 2016)."""

    def forward(self, below: Float[Tensor, "*N I"], above: Float[Tensor, "*N H"]) -> Float[Tensor, "*N O"]:
        return below + above


class HighwayConnection(Connection):
    """g · output + (1 − g) · input, with a gate g = σ(W input + b) (Srivastava et al. 2015).

    The bias starts at −1, so that at first most of the input passes.
    """

    def __init__(self, input_width: int, output_width: int) -> None:
        super().__init__(input_width, output_width)
        self.gate = nn.Linear(input_width, output_width)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, below: Float[Tensor, "*N I"], above: Float[Tensor, "*N H"]) -> Float[Tensor, "*N O"]:
        return below + torch.sigmoid(self.gate(below)) * (above - below)


class DenseConnection(Connection):
    """The concatenation of both, so that each layer reads the outputs of all layers below it (Huang et al. 2017;
    between recurrent layers, Godin et al. 2017)."""

    def __init__(self, input_width: int, output_width: int) -> None:
        super().__init__(input_width, output_width)
        self.width = input_width + output_width

    def forward(self, below: Float[Tensor, "*N I"], above: Float[Tensor, "*N H"]) -> Float[Tensor, "*N O"]:
        return torch.cat([below, above], -1)


CONNECTIONS: Mapping[str, type[Connection]] = names.CONNECTIONS


class RecurrentLayer(nn.Module):
    """A forward cell (`ahead`), optionally a backward one (`back`), and the connection around them."""

    def __init__(
        self,
        cell: type[Cell],
        input_width: int,
        hidden: int,
        *,
        bidirectional: bool,
        connection: type[Connection],
        weight_drop: float,
    ) -> None:
        super().__init__()
        self.ahead = cell(input_width, hidden, weight_drop=weight_drop)
        self.back = cell(input_width, hidden, weight_drop=weight_drop) if bidirectional else None
        self.connection = connection(input_width, 2 * hidden if bidirectional else hidden)
        self.width = self.connection.width

    def initial(self, x: Float[Tensor, "N ..."]) -> CellState:
        """A zero state for the rows of an input."""
        return self.ahead.initial(x) + (self.back.initial(x) if self.back else ())

    def forward(
        self,
        x: Float[Tensor, "N T I"],
        state: CellState,
        lengths: Int[Tensor, " N"] | None,
    ) -> tuple[Float[Tensor, "N T O"], CellState]:
        parts = len(self.ahead.state_names)
        outputs, final = self.ahead.read(x, state[:parts], lengths)
        if self.back:
            backward, final_back = self.back.read(x, state[parts:], lengths, backward=True)
            outputs, final = torch.cat([outputs, backward], -1), final + final_back
        return self.connection(x, outputs), final


class RecurrentStack(nn.Module):
    """Stacked layers; `width` is that of the outputs.

    From the second layer on, each layer has a connection around it and dropout before it. The last layer may have
    another width, `top`.
    """

    def __init__(
        self,
        cell: str,
        input_width: int,
        hidden: int,
        layers: int = 1,
        *,
        bidirectional: bool = False,
        connection: str = "none",
        between: float = 0.0,
        weight_drop: float = 0.0,
        variational: bool = True,
        top: int | None = None,
    ) -> None:
        super().__init__()
        _known("cell", cell, CELLS)
        _known("connection", connection, CONNECTIONS)
        built, width = [], input_width
        for place in range(layers):
            layer = RecurrentLayer(
                CELLS[cell],
                width,
                top if top and place == layers - 1 else hidden,
                bidirectional=bidirectional,
                connection=CONNECTIONS[connection] if place else PlainConnection,
                weight_drop=weight_drop,
            )
            built.append(layer)
            width = layer.width
        self.layers = nn.ModuleList(built)
        self.between = FeatureDropout(between, variational=variational)
        self.width = width
        self.state_names = CELLS[cell].state_names

    def initial(self, x: Float[Tensor, "N ..."]) -> RecurrentState:
        """A zero state for the rows of an input."""
        return RecurrentState(tuple(layer.initial(x) for layer in self._layers))

    def forward(
        self,
        x: Float[Tensor, "N T I"],
        lengths: Int[Tensor, " N"] | None = None,
        state: RecurrentState | None = None,
    ) -> tuple[Float[Tensor, "N T O"], RecurrentState]:
        """Outputs of all steps, and the state after each row's last real token.

        Rows are padded on the right; without `lengths` there is no padding. Outputs of padding are arbitrary.
        """
        before = state or self.initial(x)
        after = []
        for place, (layer, layer_state) in enumerate(zip(self._layers, before.layers, strict=True)):
            x, final = layer(self.between(x) if place else x, layer_state, lengths)
            after.append(final)
        return x, RecurrentState(tuple(after))

    def steps(self, early: Float[Tensor, "N T K"], late_width: int) -> "Steps":
        """Reads a sequence step by step, where the last `late_width` features of each input come with its step and the
        others are known `early`."""
        if any(layer.back for layer in self._layers):
            raise UsageError("a bidirectional stack cannot read step by step: it needs the whole sequence")
        return Steps(self._layers, self.between, early.transpose(0, 1), late_width)

    @property
    def _layers(self) -> Sequence[RecurrentLayer]:
        return [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]


class Steps:
    """Reads a sequence step by step, with the same result as `RecurrentStack.forward`.

    Early features are projected for all steps at once. Dropout masks are drawn once and last for all steps.
    """

    def __init__(
        self,
        layers: Sequence[RecurrentLayer],
        between: FeatureDropout,
        early: Float[Tensor, "T N K"],
        late_width: int,
    ) -> None:
        self._layers = layers
        cells = [layer.ahead for layer in layers]
        nothing = early[..., :0]
        self._sums = [cells[0].sums(early, late_width)]
        self._sums += [cell.sums(nothing, cell.input_width) for cell in cells[1:]]
        self._passages = [Passage(cell.taps) for cell in cells]
        self._drops: list[Callable[[Tensor], Tensor]] = [between.steps() for _ in layers]

    def __call__(
        self, late: Float[Tensor, "N L"], state: tuple[CellState, ...]
    ) -> tuple[Float[Tensor, "N O"], tuple[CellState, ...]]:
        """The output of one more step, and the state of each layer after it."""
        after: list[CellState] = []
        output = late
        for place, layer in enumerate(self._layers):
            below = self._drops[place](output) if place else late
            after.append(layer.ahead.step(self._sums[place], state[place], self._passages[place], below))
            output = layer.connection(below, after[-1][0])
        return output, tuple(after)

    def show(self) -> None:
        """Ends the sequence: passes the values of all steps to the taps that record."""
        for passage in self._passages:
            passage.show()


def _known(what: str, name: str, known: Mapping[str, Any]) -> None:
    if name not in known:
        raise UsageError(f"{what} {name!r} is not known; known are {one_of(known, name)}")
