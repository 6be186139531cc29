"""Gates and states under the eyes of others: what is shown is what is computed, and what is changed counts."""

import pytest
import torch
from torch import Tensor

from regard.nn import CELLS, RecurrentStack
from regard.tap import intervene, record

every_cell = pytest.mark.parametrize("cell", CELLS)
X = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LENGTHS = torch.tensor([4, 2])


def stack(cell: str, **options: object) -> RecurrentStack:
    torch.manual_seed(2)
    return RecurrentStack(cell, 3, 5, 2, **options).double()


@every_cell
@pytest.mark.parametrize("tap", ["gates.candidate", "state"])
def test_looking_at_one_tap_changes_nothing(cell: str, tap: str) -> None:
    ours = stack(cell, bidirectional=True)
    outputs, _ = ours(X, LENGTHS)
    with record(ours, f"layers.*.{tap}") as seen:
        watched, _ = ours(X, LENGTHS)
    keep = torch.arange(4) < LENGTHS[:, None]
    torch.testing.assert_close(watched[keep], outputs[keep])
    assert {name: [value.shape for value in values] for name, values in seen.items()} == {
        f"layers.{layer}.{direction}.{tap}": [(2, 4, 5)] for layer in (0, 1) for direction in ("ahead", "back")
    }


@every_cell
def test_states_are_shown_in_the_order_of_the_tokens_in_both_directions(cell: str) -> None:
    ours = stack(cell, bidirectional=True)
    with record(ours, "layers.1.*.state") as seen:
        outputs, _ = ours(X, LENGTHS)
    keep = torch.arange(4) < LENGTHS[:, None]
    both = torch.cat([seen.last("layers.1.ahead.state"), seen.last("layers.1.back.state")], -1)
    torch.testing.assert_close(both[keep], outputs[keep])


def test_gates_of_an_lstm_satisfy_its_equations() -> None:
    ours = stack("lstm")
    with record(ours, "layers.0.*") as seen:
        ours(X)
    enter, forget, candidate, leave = (
        seen.last(f"layers.0.ahead.gates.{name}") for name in ("input", "forget", "candidate", "output")
    )
    memory, state = seen.last("layers.0.ahead.memory"), seen.last("layers.0.ahead.state")
    before = torch.cat([torch.zeros_like(memory[:, :1]), memory[:, :-1]], 1)
    torch.testing.assert_close(memory, forget * before + enter * candidate)
    torch.testing.assert_close(state, leave * memory.tanh())
    assert ((forget > 0) & (forget < 1)).all()


def test_gates_of_a_gru_satisfy_its_equations() -> None:
    ours = stack("gru")
    with record(ours, "layers.0.*") as seen:
        ours(X)
    reset, update, candidate = (seen.last(f"layers.0.ahead.gates.{name}") for name in ("reset", "update", "candidate"))
    state = seen.last("layers.0.ahead.state")
    before = torch.cat([torch.zeros_like(state[:, :1]), state[:, :-1]], 1)
    torch.testing.assert_close(state, (1 - update) * candidate + update * before)
    assert ((reset > 0) & (reset < 1)).all()


def test_step_by_step_the_same_is_shown_as_at_once() -> None:
    ours = stack("lstm")
    with record(ours) as at_once:
        ours(X)
    with record(ours) as by_steps:
        steps, layers = ours.steps(X, late_width=0), ours.initial(X).layers
        for _ in range(X.shape[1]):
            _, layers = steps(X[:, 0, :0], layers)
        steps.show()
    assert at_once.keys() == by_steps.keys()
    for name in at_once:
        torch.testing.assert_close(by_steps[name], at_once[name])


@every_cell
def test_a_changed_state_is_what_the_next_step_starts_from(cell: str) -> None:
    ours = RecurrentStack(cell, 3, 5).double()
    with intervene(ours, "*.state", torch.zeros_like):
        outputs, _ = ours(X)
    assert outputs.count_nonzero() == 0


@pytest.mark.parametrize("cell", ["rnn", "gru"])
def test_a_state_put_back_to_zero_leaves_the_last_token_alone(cell: str) -> None:
    ours, passed = RecurrentStack(cell, 3, 5).double(), []

    def all_but_the_last(state: Tensor) -> Tensor:
        passed.append(state)
        return state if len(passed) == X.shape[1] else torch.zeros_like(state)

    with intervene(ours, "*.state", all_but_the_last):
        outputs, _ = ours(X)
    torch.testing.assert_close(outputs[:, -1:], ours(X[:, -1:])[0])


def test_a_shut_forget_gate_makes_every_memory_new() -> None:
    ours = RecurrentStack("lstm", 3, 5).double()
    with intervene(ours, "*.forget", torch.zeros_like), record(ours) as seen:
        ours(X)
    # An intervention is asked at every step, a recording shown all of them at once.
    assert [value.shape for value in seen["layers.0.ahead.gates.forget"]] == [(2, 4, 5)]
    enter, candidate = seen.last("layers.0.ahead.gates.input"), seen.last("layers.0.ahead.gates.candidate")
    torch.testing.assert_close(seen.last("layers.0.ahead.memory"), enter * candidate)


@every_cell
def test_weight_drop_drops_the_same_for_those_who_look(cell: str) -> None:
    ours = stack(cell, weight_drop=0.5)
    torch.manual_seed(3)
    outputs, _ = ours(X)
    torch.manual_seed(3)
    with record(ours):
        watched, _ = ours(X)
    torch.testing.assert_close(watched, outputs)
    assert not torch.allclose(outputs, ours(X)[0])
    torch.testing.assert_close(ours.eval()(X)[0], ours(X)[0])
