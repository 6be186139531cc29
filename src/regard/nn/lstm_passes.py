"""Both passes of an LSTM over sequences on a CPU, for many rows of large states.

With them most of the time is that of products, and on several threads torch's own are faster than those inside
oneDNN's kernel. Whatever does not depend on the step before is one product over all steps; and since all states are
kept anyway, the last real one of a row of any length is among them.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

LARGE = 2**16
"""Numbers in the states of all rows from which on products take so much of the time that this is the faster way."""

_by_sigmoid, _by_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def pays(x: Float[Tensor, "N T I"], hidden: int) -> bool:
    """Whether this is the faster way to read a sequence; without gradients, oneDNN's kernel is."""
    return x.device.type == "cpu" and torch.is_grad_enabled() and x.shape[1] > 1 and len(x) * hidden >= LARGE


def read(
    x: Float[Tensor, "N T I"],
    state: tuple[Tensor, ...],
    weights: list[Tensor],
    lengths: Int[Tensor, " N"] | None,
) -> tuple[Float[Tensor, "N T H"], tuple[Tensor, ...]]:
    """Hidden states of all steps, and the state after each row's last real token. The weights are in torch's order."""
    of_input, of_hidden, *biases = weights
    x, *start = (part.to(of_input.dtype) for part in (x, *state))
    lengths = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
    with torch.autocast("cpu", enabled=False):
        outputs, *final = _Passes.apply(  # type: ignore[no-untyped-call]
            x.transpose(0, 1), *start, of_input, of_hidden, biases[0] + biases[1], lengths
        )
    return outputs.transpose(0, 1), tuple(final)


class _Passes(torch.autograd.Function):
    """Gates are kept in place of the sums that they are made from, and states of T + 1 places, that before the first
    step among them. A row's last state is where its length says."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "T N I"],
        state: Float[Tensor, "N H"],
        memory: Float[Tensor, "N H"],
        of_input: Float[Tensor, "4*H I"],
        of_hidden: Float[Tensor, "4*H H"],
        bias: Float[Tensor, " 4*H"],
        lengths: Int[Tensor, " N"],
    ) -> tuple[Float[Tensor, "T N H"], Float[Tensor, "N H"], Float[Tensor, "N H"]]:
        x = x.contiguous()
        steps, rows, width = *x.shape[:2], state.shape[1]
        gates = torch.addmm(bias, x.flatten(0, 1), of_input.t()).view(steps, rows, 4 * width)
        states, memories = x.new_empty(2, steps + 1, rows, width)
        states[0], memories[0] = state, memory
        for place, total in enumerate(gates):
            total.addmm_(states[place], of_hidden.t())
            enter, forget, candidate, leave = total.chunk(4, -1)
            total[:, : 2 * width].sigmoid_()
            candidate.tanh_()
            leave.sigmoid_()
            after = torch.mul(forget, memories[place], out=memories[place + 1]).addcmul_(enter, candidate)
            torch.mul(leave, torch.tanh(after), out=states[place + 1])
        ctx.save_for_backward(x, of_input, of_hidden, lengths, gates, states, memories)
        every = torch.arange(rows)
        return states[1:], states[lengths, every], memories[lengths, every]

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, by_outputs: Float[Tensor, "T N H"], by_state: Float[Tensor, "N H"], by_memory: Float[Tensor, "N H"]
    ) -> tuple[Tensor | None, ...]:
        x, of_input, of_hidden, lengths, gates, states, memories = ctx.saved_tensors
        by_sums = torch.empty_like(gates)
        last = (lengths == torch.arange(len(states))[:, None]).to(x.dtype)[..., None]
        by_hidden, by_kept = by_state * last[-1], by_memory * last[-1]
        for place in reversed(range(len(gates))):
            enter, forget, candidate, leave = gates[place].chunk(4, -1)
            by_enter, by_forget, by_candidate, by_leave = by_sums[place].chunk(4, -1)
            shown = torch.tanh(memories[place + 1])
            by_hidden += by_outputs[place]
            by_kept += _by_tanh(by_hidden * leave, shown)
            _by_sigmoid.grad_input(by_kept * candidate, enter, grad_input=by_enter)
            _by_sigmoid.grad_input(by_kept * memories[place], forget, grad_input=by_forget)
            _by_tanh.grad_input(by_kept * enter, candidate, grad_input=by_candidate)
            _by_sigmoid.grad_input(by_hidden * shown, leave, grad_input=by_leave)
            by_kept.mul_(forget).addcmul_(by_memory, last[place])
            by_hidden = torch.addcmul(by_sums[place] @ of_hidden, by_state, last[place])
        every = by_sums.flatten(0, 1)
        by_input = (every @ of_input).view_as(x) if ctx.needs_input_grad[0] else None
        by_weights = every.mT @ x.flatten(0, 1), every.mT @ states[:-1].flatten(0, 1), every.sum(0)
        return by_input, by_hidden, by_kept, *by_weights, None
