"""An LSTM that multiplies by itself gives the numbers of torch's step after step, and so do its gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.nn import lstm_passes
from regard.nn.cells import LSTM, mirror

INPUTS, HIDDEN = 3, 4


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a state is."""
    monkeypatch.setattr(lstm_passes, "LARGE", 0)


def row_by_row(x: Tensor, state: tuple[Tensor, ...], cell: LSTM, lengths: list[int]) -> tuple[Tensor, ...]:
    """Outputs, zero past the length of a row, and last states, by torch's own step."""
    weights = cell.input_weight, cell.hidden_weight, cell.input_bias, cell.hidden_bias
    outputs, lasts = [], []
    for row, length in enumerate(lengths):
        now = tuple(part[row : row + 1] for part in state)
        shown = []
        for place in range(length):
            now = torch.lstm_cell(x[row : row + 1, place], list(now), *weights)
            shown.append(now[0])
        shown += [x.new_zeros(1, HIDDEN)] * (x.shape[1] - length)
        outputs.append(torch.cat(shown))
        lasts.append(now)
    return torch.stack(outputs), *(torch.cat(parts) for parts in zip(*lasts, strict=True))


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4), steps=st.integers(4, 5), seed=st.integers(0, 999))
def test_numbers_and_gradients_are_those_of_steps(lengths: list[int], steps: int, seed: int) -> None:
    torch.manual_seed(seed)
    cell, rows, every = LSTM(INPUTS, HIDDEN).double(), len(lengths), torch.tensor(lengths)
    x = torch.randn(rows, steps, INPUTS).double().requires_grad_()
    state = tuple(torch.randn(rows, HIDDEN).double().requires_grad_() for _ in range(2))
    for backward in (False, True):
        assert lstm_passes.pays(x, HIDDEN)
        outputs, final = cell.read(x, state, every, backward=backward)
        real = (torch.arange(steps) < every[:, None])[..., None]
        wanted, *ends = row_by_row(mirror(x, every) if backward else x, state, cell, lengths)
        wanted = mirror(wanted, every) if backward else wanted
        found = []
        for results in ((outputs * real, *final), (wanted, *ends)):
            loss = results[0].pow(3).sum() + results[1].sin().sum() + results[2].pow(2).sum()
            # Where no token is real, the reference never meets x or the weights.
            gradients = torch.autograd.grad(loss, [x, *state, *cell.parameters()], materialize_grads=True)
            found.append((*results, *gradients))
        torch.testing.assert_close(*found)


def test_without_lengths_all_tokens_are_real() -> None:
    torch.manual_seed(0)
    cell, x = LSTM(INPUTS, HIDDEN).double(), torch.randn(2, 3, INPUTS).double()
    state = cell.initial(x)
    outputs, final = cell.read(x, state)
    torch.testing.assert_close((outputs, *final), row_by_row(x, state, cell, [3, 3]))
    torch.testing.assert_close(final[0], outputs[:, -1])


def test_parts_of_a_graph_have_gradients_of_their_own() -> None:
    """A memory alone, outputs alone, and the same once more from what is kept."""
    torch.manual_seed(0)
    cell, x = LSTM(INPUTS, HIDDEN).double(), torch.randn(2, 3, INPUTS).double().requires_grad_()
    outputs, final = cell.read(x, cell.initial(x), torch.tensor([3, 1]))
    wanted, *ends = row_by_row(x, cell.initial(x), cell, [3, 1])
    for mine, theirs in ((final[1], ends[1]), (outputs[:1], wanted[:1]), (final[1], ends[1])):
        given = x, cell.hidden_weight
        torch.testing.assert_close(
            *(torch.autograd.grad(part.pow(3).sum(), given, retain_graph=True) for part in (mine, theirs))
        )


def test_an_output_that_was_changed_since_is_noticed() -> None:
    cell, x = LSTM(INPUTS, HIDDEN), torch.randn(2, 3, INPUTS)
    outputs, _ = cell.read(x, cell.initial(x))
    outputs.detach().mul_(0)
    with pytest.raises(RuntimeError, match="modified inplace"):
        torch.autograd.grad(outputs.sum(), cell.hidden_weight)


def test_mixed_precision_leaves_it_alone() -> None:
    """As it leaves oneDNN's kernel alone."""
    torch.manual_seed(0)
    cell, x = LSTM(INPUTS, HIDDEN), torch.randn(2, 3, INPUTS).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        narrow, _ = cell.read(x, cell.initial(x))
    exact, _ = cell.read(x.float(), cell.initial(x.float()))
    torch.testing.assert_close(narrow, exact, rtol=0, atol=0)


def test_it_is_for_many_rows_of_large_states_that_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert lstm_passes.pays(torch.zeros(128, 2, 1), 512)
    assert not lstm_passes.pays(torch.zeros(127, 2, 1), 512)
    assert not lstm_passes.pays(torch.zeros(128, 1, 1), 512)
    assert not lstm_passes.pays(torch.zeros(128, 2, 1, device="meta"), 512)
    with torch.no_grad():
        assert not lstm_passes.pays(torch.zeros(128, 2, 1), 512)
