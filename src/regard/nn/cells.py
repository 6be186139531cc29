"""Recurrent cells: tanh RNN, GRU and LSTM, in the weight layout of torch's modules.

A cell reads a sequence in two ways with the same result. `read` uses torch's fused kernel over all steps. `step`
computes one step from the equations: for decoders whose next input depends on the last state, and whenever one of the
taps `gates.<name>`, `state` and `memory` is watched.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from typing import ClassVar

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn
from torch.nn import functional as F

from regard.device import fast_multiple, has_cudnn, is_host
from regard.nn.dropout import drop
from regard.nn.stepwise_linear import StepwiseLinear, narrowed
from regard.recipe import names
from regard.tap import Tap

CellState = tuple[Tensor, ...]
"""Tensors "N H": the hidden state and, in an LSTM, the memory."""

SHUT = 1e4
"""A gate's input whose sigmoid is exactly 1 (negative: 0), within the range of half precision."""


class Gates(nn.Module):
    """A tap for each gate of a cell."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        for name in names:
            self.add_module(name, Tap("row", "step", "feature"))


class Passage:
    """Passes the values of a cell's steps through its taps.

    Recordings get all steps at once, as "N T H" in the order of the tokens. Interventions get each step as "N 1 H" in
    the order of reading, because the next step depends on their result.
    """

    def __init__(self, taps: dict[str, Tap]) -> None:
        self._each = {name: tap for name, tap in taps.items() if tap.intervened}
        self._all = {name: tap for name, tap in taps.items() if tap.recorded}
        self._recorded: dict[str, list[Tensor]] = {name: [] for name in self._all}

    def __call__(self, name: str, value: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        if name in self._each:
            value = self._each[name].change(value.unsqueeze(1)).squeeze(1)
        if name in self._recorded:
            self._recorded[name].append(value.detach())
        return value

    def show(self, lengths: Int[Tensor, " N"] | None = None, *, backward: bool = False) -> None:
        """Ends the sequence: shows the values of all steps to recordings."""
        for name, values in self._recorded.items():
            if values:
                steps = torch.stack(values, 1)
                self._all[name].show(mirror(steps, lengths) if backward else steps)


class Cell(nn.Module, ABC):
    """A recurrent layer that reads in one direction."""

    gate_names: ClassVar[tuple[str, ...]]
    """The gates, in the order of their rows in the weights."""
    state_names: ClassVar[tuple[str, ...]] = ("state",)

    def __init__(self, input_width: int, hidden: int, *, weight_drop: float = 0.0) -> None:
        super().__init__()
        self.input_width, self.hidden, self.weight_drop = input_width, hidden, weight_drop
        rows = len(self.gate_names) * hidden
        self.input_weight = nn.Parameter(torch.empty(rows, input_width))
        self.hidden_weight = nn.Parameter(torch.empty(rows, hidden))
        self.input_bias = nn.Parameter(torch.zeros(rows))
        self.hidden_bias = nn.Parameter(torch.zeros(rows))
        self.gates = Gates(self.gate_names)
        for name in self.state_names:
            self.add_module(name, Tap("row", "step", "feature"))
        self._initialize()

    def _initialize(self) -> None:
        # Each gate separately: Glorot's bound for input weights, and orthogonal hidden-to-hidden weights, with which
        # gradients neither vanish nor explode at first (Saxe et al. 2014).
        for weight in self.input_weight.chunk(len(self.gate_names)):
            nn.init.xavier_uniform_(weight)
        for weight in self.hidden_weight.chunk(len(self.gate_names)):
            nn.init.orthogonal_(weight)

    @property
    def taps(self) -> dict[str, Tap]:
        """The taps of gates and state by their short names."""
        found = {name: self.gates.get_submodule(name) for name in self.gate_names}
        found |= {name: self.get_submodule(name) for name in self.state_names}
        return {name: tap for name, tap in found.items() if isinstance(tap, Tap)}

    def initial(self, x: Float[Tensor, "N ..."]) -> CellState:
        """A zero state for the rows of an input."""
        return (x.new_zeros(len(x), self.hidden),) * len(self.state_names)

    def recurrent_weight(self) -> Float[Tensor, "rows H"]:
        """The hidden-to-hidden weights, with dropout in training (weight drop, Merity et al. 2018)."""
        active = self.training and self.weight_drop > 0
        return drop(self.hidden_weight, self.weight_drop) if active else self.hidden_weight

    @property
    def bias(self) -> Float[Tensor, " rows"]:
        """The bias of the input's part of the gates."""
        return self.input_bias + self.hidden_bias

    def project(self, x: Float[Tensor, "T N I"]) -> Float[Tensor, "T N rows"]:
        """The input's part of the gates, for any number of steps at once."""
        return F.linear(x, self.input_weight[:, : x.shape[-1]], self.bias)

    def sums(self, early: Float[Tensor, "T N K"], late_width: int | None = None) -> tuple[StepwiseLinear, ...]:
        """The input of `step` for T steps, given the features of their inputs except for the last `late_width`, if some
        are known only at each step."""
        late = () if late_width is None else (self.input_weight[:, self.input_width - late_width :],)
        if early.shape[-1]:
            return self._sums(self.project(early), *late)
        return self._sums(narrowed(self.bias).expand(*early.shape[:2], -1), *late)

    def _sums(self, projected: Float[Tensor, "T N rows"], *late: Float[Tensor, "rows L"]) -> tuple[StepwiseLinear, ...]:
        return (StepwiseLinear(projected, *late, self.recurrent_weight()),)

    @abstractmethod
    def step(
        self, sums: tuple[StepwiseLinear, ...], state: CellState, passage: Passage, *late: Float[Tensor, "N L"]
    ) -> CellState:
        """The state after one more step, given the late features of its input, if any."""

    @abstractmethod
    def _kernel(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        """Torch's kernel: hidden states of all steps, and the state after the last."""

    def read(
        self,
        x: Float[Tensor, "N T I"],
        state: CellState,
        lengths: Int[Tensor, " N"] | None = None,
        *,
        backward: bool = False,
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        """Hidden states of all steps, and the state after each row's last real token (first, if read backwards).

        Padding may have any value, and has no influence.
        """
        x = mirror(x, lengths) if backward else x
        if any(tap.watched for tap in self.taps.values()) or x.numel() == 0:  # kernels refuse empty tensors
            outputs, final = self._walk(x, state, lengths, backward)
        else:
            outputs, final = self._run(x, state, lengths)
        return mirror(outputs, lengths) if backward else outputs, final

    def _run(
        self, x: Float[Tensor, "N T I"], state: CellState, lengths: Int[Tensor, " N"] | None
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        weights = [self.input_weight, self.recurrent_weight(), self.input_bias, self.hidden_bias]
        if lengths is None:
            return self._launch(x, state, weights)
        return self._launch_to_lengths(x, state, weights, lengths)

    def _launch(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        """Runs the kernel with weights, inputs and state zero-padded to the widths it is fastest with: a unit of zeros
        stays zero in every kind of cell."""
        multiple = fast_multiple(x)
        inputs, units = -x.shape[-1] % multiple, -self.hidden % multiple
        if inputs or units:
            weights = _widened(weights, len(self.gate_names), inputs, units)
            x, state = F.pad(x, (0, inputs)), tuple(F.pad(part, (0, units)) for part in state)
        outputs, final = self._kernel(x, state, _adjacent(weights))
        if units:
            outputs, final = outputs[..., : self.hidden], tuple(part[..., : self.hidden] for part in final)
        return outputs, final

    def _launch_to_lengths(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor], lengths: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        """Hidden states of all steps, and the state after each row's last, without packing, which would need the
        lengths on the host."""
        outputs, _ = self._launch(x, state, weights)
        return outputs, (_last(outputs, lengths, state[0]),)

    def _walk(
        self, x: Float[Tensor, "N T I"], state: CellState, lengths: Int[Tensor, " N"] | None, backward: bool
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        """The same as the kernel, step by step through the taps."""
        passage, sums = Passage(self.taps), self.sums(x.transpose(0, 1))
        hidden: list[Tensor] = []
        for place in range(x.shape[1]):
            new = self.step(sums, state, passage)
            hidden.append(new[0])
            if lengths is not None:
                real = (place < lengths)[:, None]
                new = tuple(torch.where(real, after, before) for after, before in zip(new, state, strict=True))
            state = new
        passage.show(lengths, backward=backward)
        return torch.stack(hidden, 1) if hidden else x.new_zeros(len(x), 0, self.hidden), state


class RNN(Cell):
    """h' = tanh(W x + U h + b) (Elman 1990)."""

    gate_names = ("candidate",)

    def step(
        self, sums: tuple[StepwiseLinear, ...], state: CellState, passage: Passage, *late: Float[Tensor, "N L"]
    ) -> CellState:
        candidate = passage("candidate", torch.tanh(sums[0](*late, state[0])))
        return (passage("state", candidate),)

    def _kernel(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        outputs, hidden = torch.rnn_tanh(
            x, state[0][None].contiguous(), weights, True, 1, 0.0, torch.is_grad_enabled(), False, True
        )
        return outputs, (hidden[0],)


class GRU(Cell):
    """r, z = σ(W x + U h + b); n = tanh(W x + b + r · (U h + b')); h' = (1 − z) · n + z · h.

    Cho et al. (2014), with the reset gate after the product as in torch and cuDNN.
    """

    gate_names = ("reset", "update", "candidate")

    @property
    def bias(self) -> Float[Tensor, " rows"]:
        return self.input_bias

    def _sums(self, projected: Float[Tensor, "T N rows"], *late: Float[Tensor, "rows L"]) -> tuple[StepwiseLinear, ...]:
        own = narrowed(self.hidden_bias).expand_as(projected)
        return StepwiseLinear(projected, *late), StepwiseLinear(own, self.recurrent_weight())

    def step(
        self, sums: tuple[StepwiseLinear, ...], state: CellState, passage: Passage, *late: Float[Tensor, "N L"]
    ) -> CellState:
        (hidden,) = state
        projected, own = sums[0](*late), sums[1](hidden)
        gates = 2 * self.hidden
        reset, update = torch.sigmoid(projected[:, :gates] + own[:, :gates]).chunk(2, -1)
        reset, update = passage("reset", reset), passage("update", update)
        candidate = passage("candidate", torch.tanh(projected[:, gates:] + reset * own[:, gates:]))
        return (passage("state", candidate + update * (hidden - candidate)),)

    def _kernel(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        outputs, hidden = torch.gru(
            x, state[0][None].contiguous(), weights, True, 1, 0.0, torch.is_grad_enabled(), False, True
        )
        return outputs, (hidden[0],)


class LSTM(Cell):
    """i, f, o = σ(W x + U h + b); g = tanh(W x + U h + b); c' = f · c + i · g; h' = o · tanh(c').

    Hochreiter and Schmidhuber (1997) with the forget gate of Gers et al. (2000), whose bias starts at one so that
    memory lasts from the first step on (Jozefowicz et al. 2015).
    """

    gate_names = ("input", "forget", "candidate", "output")
    state_names = ("state", "memory")

    def _initialize(self) -> None:
        super()._initialize()
        with torch.no_grad():
            self.input_bias[self.hidden : 2 * self.hidden] = 1.0

    def step(
        self, sums: tuple[StepwiseLinear, ...], state: CellState, passage: Passage, *late: Float[Tensor, "N L"]
    ) -> CellState:
        hidden, memory = state
        gates = sums[0](*late, hidden).chunk(4, -1)
        enter, forget = passage("input", torch.sigmoid(gates[0])), passage("forget", torch.sigmoid(gates[1]))
        candidate, leave = passage("candidate", torch.tanh(gates[2])), passage("output", torch.sigmoid(gates[3]))
        memory = passage("memory", forget * memory + enter * candidate)
        return passage("state", leave * torch.tanh(memory)), memory

    def _kernel(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        start = [part[None].contiguous() for part in state]  # required by cuDNN
        on_cpu = is_host(x.device)
        if on_cpu:
            # In bfloat16, oneDNN's kernel dies of an illegal instruction on some CPUs.
            x, *start = (part.to(weights[0].dtype) for part in (x, *start))
        with torch.autocast("cpu", enabled=False) if on_cpu else nullcontext():
            if on_cpu and x.shape[1] == 1:
                # oneDNN repacks the weights at every call, which takes several times as long as one step.
                hidden, memory = torch.lstm_cell(x[:, 0], [part[0] for part in start], *weights)
                return hidden[:, None], (hidden, memory)
            outputs, hidden, memory = torch.lstm(x, start, weights, True, 1, 0.0, torch.is_grad_enabled(), False, True)
        return outputs, (hidden[0], memory[0])

    def _launch_to_lengths(
        self, x: Float[Tensor, "N T I"], state: CellState, weights: list[Tensor], lengths: Int[Tensor, " N"]
    ) -> tuple[Float[Tensor, "N T H"], CellState]:
        # The kernel returns the memory after the last step only. An extra feature marks padding: it opens the forget
        # gate and shuts the input gate, so that the memory stays unchanged. Seven more, unused features keep rows
        # aligned.
        places = torch.arange(x.shape[1], device=x.device)
        mark = F.pad((places >= lengths[:, None]).to(x.dtype)[..., None], (0, 7))
        hold = x.new_zeros(len(self.input_weight), 8)
        hold[: self.hidden, 0], hold[self.hidden : 2 * self.hidden, 0] = -SHUT, SHUT
        weights = [torch.cat([weights[0], hold.to(weights[0].dtype)], 1), *weights[1:]]
        outputs, (_, memory) = self._launch(torch.cat([x, mark], -1), state, weights)
        return outputs, (_last(outputs, lengths, state[0]), memory)


CELLS: Mapping[str, type[Cell]] = names.CELLS


def mirror(x: Num[Tensor, "N T I"], lengths: Int[Tensor, " N"] | None = None) -> Num[Tensor, "N T I"]:
    """Each row's real tokens in reverse, followed by its padding; its own inverse."""
    if lengths is None:
        return x.flip(1)
    rows, steps = x.shape[:2]
    places = torch.arange(steps, device=x.device)
    order = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    order = order + steps * torch.arange(rows, device=x.device)[:, None]
    # Selects whole vectors: gathering single elements is thirty times slower, above all in backward.
    return x.flatten(0, 1).index_select(0, order.view(-1)).view(x.shape)


def _last(
    outputs: Float[Tensor, "N T H"], lengths: Int[Tensor, " N"], before: Float[Tensor, "N H"]
) -> Float[Tensor, "N H"]:
    """The hidden state after each row's last real token; the initial one in empty rows."""
    rows, steps = outputs.shape[:2]
    places = (lengths - 1).clamp_min(0) + steps * torch.arange(rows, device=outputs.device)
    last = outputs.flatten(0, 1).index_select(0, places)
    return torch.where((lengths > 0)[:, None], last, before.to(last.dtype))


def _widened(weights: list[Tensor], gates: int, inputs: int, units: int) -> list[Tensor]:
    """The weights, zero-padded for more inputs and more units in each gate."""
    of_input, of_hidden, *biases = (weight.reshape(gates, -1, *weight.shape[1:]) for weight in weights)
    wide = [F.pad(of_input, (0, inputs, 0, units)), F.pad(of_hidden, (0, units, 0, units))]
    return [weight.flatten(0, 1) for weight in (*wide, *(F.pad(bias, (0, units)) for bias in biases))]


def _adjacent(weights: list[Tensor]) -> list[Tensor]:
    """The weights in one contiguous buffer, as cuDNN needs them; unchanged on other devices."""
    if not has_cudnn(weights[0].device):
        return weights
    pieces = torch.split(torch.cat([weight.flatten() for weight in weights]), [weight.numel() for weight in weights])
    return [piece.view(weight.shape) for piece, weight in zip(pieces, weights, strict=True)]
