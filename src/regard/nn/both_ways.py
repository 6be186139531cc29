"""An LSTM that reads tokens in both directions, on a CPU and with gradients, for many rows of large states.

Nearly all of the time is that of products then. Here are fewer of them than in oneDNN's kernel, which would be called
for each direction: the vector of a token that stands at many places is projected once; both directions are one call, so
that each has a thread of its own; and since all states are kept, nothing is added to the inputs to find a row's last.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.device import learns_on_cpu
from regard.nn.cells import CellState, mirror
from regard.nn.embedding import distinct

LARGE = 2**15
"""Numbers in the states of all rows from which on products take so much of the time that this is the faster way."""

_by_sigmoid, _by_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def pays(x: Float[Tensor, "N T I"], hidden: int) -> bool:
    """Whether this is the faster way to read a sequence; without gradients, oneDNN's kernel is."""
    return learns_on_cpu(x) and x.numel() > 0 and len(x) * hidden >= LARGE


def read(
    x: Float[Tensor, "N T I"],
    state: CellState,
    weights: Sequence[Sequence[Tensor]],
    lengths: Int[Tensor, " N"] | None,
    same: Int[Tensor, "N T"],
) -> tuple[Float[Tensor, "N T C"], CellState]:
    """Hidden states of all steps, ahead and back, and the state after each row's last real token, and after its first.

    For each direction the weights are those of inputs, those of states, and the bias. Vectors are the same where `same`
    has the same number.
    """
    x, *start = (part.to(weights[0][0].dtype) for part in (x, *state))
    rows, steps = same.shape
    table, index = distinct(x, same)
    back = mirror(index.unsqueeze(2), lengths).squeeze(2)
    which = torch.stack([2 * index, 2 * back + 1]).permute(2, 0, 1).flatten(1)
    ends = torch.full((rows,), steps) if lengths is None else lengths
    with torch.autocast("cpu", enabled=False):
        joined = (torch.stack([*parts]) for parts in (start[::2], start[1::2], *zip(*weights, strict=True)))
        states, hidden, memory = _BothWays.apply(table, which, ends, *joined)  # type: ignore[no-untyped-call]
    outputs = [states[0].transpose(0, 1), mirror(states[1].transpose(0, 1), lengths)]
    return torch.cat(outputs, -1), (hidden[0], memory[0], hidden[1], memory[1])


class _BothWays(torch.autograd.Function):
    """Of U vectors, `which` says for each step what the rows read, those ahead and then those back: each number is that
    of a vector, times two, and one more if it is read back. `ends` is how many steps a row has."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Float[Tensor, "U I"],
        which: Int[Tensor, "T both"],
        ends: Int[Tensor, " N"],
        state: Float[Tensor, "2 N H"],
        memory: Float[Tensor, "2 N H"],
        of_input: Float[Tensor, "2 G I"],
        of_hidden: Float[Tensor, "2 G H"],
        bias: Float[Tensor, "2 G"],
    ) -> tuple[Float[Tensor, "2 T N H"], Float[Tensor, "2 N H"], Float[Tensor, "2 N H"]]:
        _, rows, width = state.shape
        known = torch.addmm(bias.flatten(), table, of_input.flatten(0, 1).t()).view(-1, 4 * width)
        states, memories = (torch.stack([part] * (len(which) + 1), 1) for part in (state, memory))
        gates = []
        for place, read in enumerate(which):
            sums = known.index_select(0, read).view(2, rows, 4 * width).baddbmm_(states[:, place], of_hidden.mT)
            enter, forget, candidate, leave = sums.chunk(4, -1)
            sums[..., : 2 * width].sigmoid_()
            candidate.tanh_()
            leave.sigmoid_()
            after = torch.mul(forget, memories[:, place], out=memories[:, place + 1]).addcmul_(enter, candidate)
            torch.mul(leave, torch.tanh(after), out=states[:, place + 1])
            gates.append(sums)
        ctx.save_for_backward(table, which, ends, of_input, of_hidden, states, memories, *gates)
        every = torch.arange(rows)
        return states[:, 1:], states[:, ends, every], memories[:, ends, every]

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        by_states: Float[Tensor, "2 T N H"],
        by_state: Float[Tensor, "2 N H"],
        by_memory: Float[Tensor, "2 N H"],
    ) -> tuple[Tensor | None, ...]:
        table, which, ends, of_input, of_hidden, states, memories, *gates = ctx.saved_tensors
        by_known, by_recurrent = table.new_zeros(2 * len(table), of_input.shape[1]), torch.zeros_like(of_hidden)
        by_hidden, by_kept = torch.zeros_like(by_state), torch.zeros_like(by_memory)
        by_sums = torch.empty_like(gates[0])
        by_enter, by_forget, by_candidate, by_leave = by_sums.chunk(4, -1)
        for place in reversed(range(len(which))):
            last = (ends == place + 1).to(table.dtype)[:, None]
            by_hidden.addcmul_(by_state, last).add_(by_states[:, place])
            enter, forget, candidate, leave = gates[place].chunk(4, -1)
            shown = torch.tanh(memories[:, place + 1])
            by_kept.addcmul_(by_memory, last).add_(_by_tanh(by_hidden * leave, shown))
            _by_sigmoid.grad_input(by_kept * candidate, enter, grad_input=by_enter)
            _by_sigmoid.grad_input(by_kept * memories[:, place], forget, grad_input=by_forget)
            _by_tanh.grad_input(by_kept * enter, candidate, grad_input=by_candidate)
            _by_sigmoid.grad_input(by_hidden * shown, leave, grad_input=by_leave)
            by_kept.mul_(forget)
            torch.bmm(by_sums, of_hidden, out=by_hidden)
            by_recurrent.baddbmm_(by_sums.mT, states[:, place])
            by_known.index_add_(0, which[place], by_sums.flatten(0, 1))
        none = (ends == 0).to(table.dtype)[:, None]
        by_hidden.addcmul_(by_state, none)
        by_kept.addcmul_(by_memory, none)
        by_both = by_known.view(len(table), -1)
        by_table, by_input = by_both @ of_input.flatten(0, 1), (by_both.mT @ table).view_as(of_input)
        return by_table, None, None, by_hidden, by_kept, by_input, by_recurrent, by_both.sum(0).view(2, -1)
