"""Rows of one source share its encoding, without any effect on results."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import Case, cases, every_model, tiny_model, worded

from regard.data.batch import Padded
from regard.models import Generator
from regard.models.recurrent import TranslatorState
from regard.models.transformer import TransformerState

SOURCE = worded(Padded(torch.tensor([[4, 5, 3], [6, 3, 0]]), torch.tensor([3, 2])))
few = settings(max_examples=max(3, settings().max_examples // 10))


def log_probs(model: Generator, tokens: torch.Tensor, state: object) -> torch.Tensor:
    features, state = model.advance(tokens, state)
    # Of a probability that is none there is no square.
    return model.readout_of(state).logits(features).log_softmax(-1).clamp(min=-50.0)


@pytest.mark.spread(9)
@every_model
@few
@given(case=cases(), data=st.data())
def test_branching_is_selecting(name: str, case: Case, data: st.DataObject) -> None:
    """Each source in several places, places continued by others of the same source, sources dropped: at every step
    the same as rows that each have a source of their own."""
    # Without gradients, rows of one source share their caches too.
    with torch.set_grad_enabled(data.draw(st.booleans(), "gradients")):
        model, (count, length) = tiny_model(name), case.target.shape
        places = data.draw(st.integers(1, 3), "places")
        rows = torch.arange(count)[:, None].expand(-1, places)
        shared = model.start(case.source, length).branch(rows)
        apart = model.start(case.source, length).select(rows.flatten())
        target = case.target.repeat_interleave(places, 0)
        for step in range(length):
            tokens = (target[:, step : step + 1] + torch.arange(len(target))[:, None]) % 9
            features, shared = model.advance(tokens, shared)
            expected, apart = model.advance(tokens, apart)
            torch.testing.assert_close(features, expected)
            stay = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True), "stay")
            parents = torch.tensor([[data.draw(st.integers(0, places - 1)) for _ in range(places)] for _ in stay])
            rows = torch.tensor(stay)[:, None] * places + parents
            shared = shared.branch(rows, None if stay == list(range(count)) else torch.tensor(stay))
            apart, target, count = apart.select(rows.flatten()), target[rows.flatten()], len(stay)


@pytest.mark.spread(9)
@every_model
@few
@given(case=cases(), places=st.integers(2, 3), data=st.data())
def test_rows_that_share_a_source_can_be_selected_apart(
    name: str, case: Case, places: int, data: st.DataObject
) -> None:
    # Without gradients, rows of one source share their caches too.
    with torch.set_grad_enabled(data.draw(st.booleans(), "gradients")):
        model, count = tiny_model(name), len(case.target)
        rows = torch.arange(count)[:, None].expand(-1, places)
        _, state = model.advance(case.target[:, :1], model.start(case.source, 3))
        chosen = torch.tensor(data.draw(st.lists(st.integers(0, count * places - 1), min_size=1, max_size=4), "rows"))
        tokens = case.target[chosen // places, -1:]
        # Another token in each row: what is one row's own must not be taken for another's of the same source.
        different = torch.arange(count * places)[:, None] % 5 + 4
        _, apart = model.advance(different, state.copy().select(rows.flatten()))
        _, shared = model.advance(different, state.branch(rows))
        expected = log_probs(model, tokens, apart.select(chosen))
        torch.testing.assert_close(log_probs(model, tokens, shared.select(chosen)), expected)


@pytest.mark.parametrize("name", ["transformer-scaled_dot-sinusoidal", "recurrent-additive-before"])
def test_a_source_is_in_memory_once_however_many_places_it_has(name: str) -> None:
    def memories(state: TransformerState | TranslatorState) -> list[torch.Tensor]:
        found = state.memories if isinstance(state, TransformerState) else [state.source.memory]
        return [part for memory in found for part in (memory.keys, memory.values)]

    model = tiny_model(name)
    state = model.start(SOURCE, 3)
    before = [part.data_ptr() for part in memories(state)]
    state = state.branch(torch.tensor([[0, 0, 0], [1, 1, 1]]))
    for _ in range(3):
        _, state = model.advance(torch.full((6, 1), 4), state)
        state = state.branch(torch.tensor([[1, 0, 1], [3, 5, 4]]))
        assert [part.data_ptr() for part in memories(state)] == before


@pytest.mark.spread(9)
@every_model
def test_gradients_reach_a_shared_source(name: str) -> None:
    model = tiny_model(name)
    rows, tokens = torch.tensor([[0, 0], [1, 1]]), torch.tensor([[2, 5], [2, 6], [2, 8], [2, 4]])
    found = []
    for state in (model.start(SOURCE, 2).branch(rows), model.start(SOURCE, 2).select(rows.flatten())):
        model.zero_grad()
        log_probs(model, tokens, state).square().sum().backward()
        found.append({part: weight.grad for part, weight in model.named_parameters() if weight.grad is not None})
    model.zero_grad()
    torch.testing.assert_close(*found)
