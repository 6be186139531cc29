"""Sums whose last parts come late are those of torch, and so are the gradients; a weight is rounded once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.nn.stepwise_linear import StepwiseLinear, narrowed

R = 3


def read(known: Tensor, first: Tensor, second: Tensor, start: Tensor, *, late: bool) -> Tensor:
    """A recurrence s' = tanh(known + A s + B s²) with two weights, all its states."""
    sums, states, state = StepwiseLinear(known, first, second), [], start
    for step in known.unbind(0):
        plain = step + state @ first.T + state.square() @ second.T
        state = torch.tanh(sums(state, state.square()) if late else plain)
        states.append(state)
    return torch.stack(states)


@given(steps=st.integers(1, 4), rows=st.integers(0, 3), seed=st.integers(0, 999), expanded=st.booleans())
def test_gradients_are_those_of_one_step_after_another(steps: int, rows: int, seed: int, expanded: bool) -> None:
    torch.manual_seed(seed)
    shape = (R,) if expanded else (steps, rows, R)
    given = [torch.randn(shape), torch.randn(R, R), torch.randn(R, R), torch.randn(rows, R)]
    given = [tensor.double().requires_grad_() for tensor in given]
    found = []
    for late in (True, False):
        states = read(given[0].expand(steps, rows, R), *given[1:], late=late)
        gradients = torch.autograd.grad(states.pow(3).sum(), given)
        found.append((states, *gradients))
    torch.testing.assert_close(*found)


def test_parts_of_a_graph_have_gradients_of_their_own() -> None:
    """One that was asked for before leaves nothing behind, and steps that do not count add nothing."""
    torch.manual_seed(0)
    given = [torch.randn(3, 2, R), torch.randn(R, R), torch.randn(R, R), torch.randn(2, R)]
    given = [tensor.double().requires_grad_() for tensor in given]
    late, plain = (read(*given, late=late) for late in (True, False))
    torch.autograd.grad(late.sum(), given[3], retain_graph=True)
    for end in (3, 1):
        torch.testing.assert_close(
            *(torch.autograd.grad(states[:end].sum(), given, retain_graph=True) for states in (late, plain))
        )


def test_steps_that_never_come_add_nothing() -> None:
    """As when something fails in the middle."""
    torch.manual_seed(0)
    known, weight = torch.randn(3, 2, R, requires_grad=True), torch.randn(R, 4, requires_grad=True)
    inputs = torch.randn(3, 2, 4)
    for come in (1, 2):
        sums = StepwiseLinear(known, weight)
        late = torch.stack([sums(x) for x in inputs[:come]])
        plain = known[:come] + inputs[:come] @ weight.T
        torch.testing.assert_close(
            *(torch.autograd.grad(found.pow(3).sum(), (known, weight)) for found in (late, plain))
        )


def test_an_input_that_was_changed_since_is_noticed() -> None:
    weight, x = torch.randn(R, 4, requires_grad=True), torch.randn(2, 4)
    total = StepwiseLinear(torch.zeros(1, 2, R), weight)(x).sum()
    x.mul_(0)
    with pytest.raises(RuntimeError, match="an input of a step was changed in place after it was used"):
        total.backward()


def test_weights_that_do_not_learn_are_left_alone() -> None:
    known, weight, x = torch.randn(1, 2, R), torch.randn(R, 4), torch.randn(2, 4, requires_grad=True)
    sums = StepwiseLinear(known, weight)
    sums(x).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, weight.sum(0).expand(2, 4))
    with torch.no_grad():
        unlearned = StepwiseLinear(known, weight.clone().requires_grad_())
        torch.testing.assert_close(unlearned(x), known[0] + x @ weight.T)
    assert not any((*sums._inputs, *unlearned._inputs))  # which would hold memory for nothing


def test_in_mixed_precision_a_weight_is_rounded_once() -> None:
    """Rounded at every step, all of them would be kept for the gradient."""
    weight, x = torch.randn(R, 4, requires_grad=True), torch.randn(5, 2, 4, dtype=torch.bfloat16)
    saved: set[int] = set()

    def pack(tensor: Tensor) -> Tensor:
        saved.add(tensor.untyped_storage().data_ptr())
        return tensor

    x.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        sums = StepwiseLinear(narrowed(torch.zeros(R)).expand(5, 2, R), weight)
        total = torch.stack([sums(one) for one in x.unbind(0)]).sum()
    assert len(saved) == 1
    (gradient,) = torch.autograd.grad(total, weight)
    assert gradient.dtype == torch.float32
    torch.testing.assert_close(gradient, x.detach().float().sum((0, 1)).expand(R, 4), atol=0.05, rtol=0.02)


def test_the_number_format_is_that_of_autocast() -> None:
    assert narrowed(torch.zeros(1)).dtype == torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        assert narrowed(torch.zeros(1)).dtype == torch.bfloat16
        # Of float64 autocast itself makes nothing else.
        assert narrowed(torch.zeros(1).double()).dtype == torch.float64
        assert (torch.zeros(1, 1).double() @ torch.zeros(1, 1).double()).dtype == torch.float64
        with torch.autocast("cpu", enabled=False):
            assert narrowed(torch.zeros(1)).dtype == torch.float32


def test_more_steps_than_were_known_are_refused() -> None:
    sums = StepwiseLinear(torch.zeros(1, 2, R), torch.zeros(R, 4))
    sums(torch.zeros(2, 4))
    with pytest.raises(StopIteration):
        sums(torch.zeros(2, 4))
