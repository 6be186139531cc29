"""The loss of segments: log-probabilities one by one, carried state, penalties."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from language_strategies import SIZE, few, rows, tiny_language_model
from torch import Tensor

from regard.data.batch import Padded, SegmentBatch
from regard.objectives import segment_loss
from regard.recipe import Penalty

KINDS = ["window-plain-own", "recurrent-lstm-none", "attentive-dot", "copying-sentinel-dot", "transformer-rotary"]
of_each_kind = pytest.mark.parametrize("name", KINDS)


def segment(given: Tensor, wanted: Tensor, lengths: list[int], fresh: bool = False) -> SegmentBatch:
    sizes = torch.tensor(lengths)
    flags = torch.full((len(lengths),), fresh)
    return SegmentBatch(Padded(given, sizes), Padded(wanted, sizes), fresh=flags, count=sum(lengths))


def text(seed: int, length: int) -> tuple[Tensor, Tensor]:
    drawn = 1 + torch.randint(SIZE - 1, (2, length + 1), generator=torch.Generator().manual_seed(seed))
    return drawn[:, :-1], drawn[:, 1:]


@of_each_kind
@few
@given(seed=st.integers(0, 99), short=st.integers(0, 4), smoothing=st.sampled_from([0.0, 0.2]))
def test_it_is_the_sum_of_what_each_wanted_token_costs(name: str, seed: int, short: int, smoothing: float) -> None:
    model, (given_, wanted) = tiny_language_model(name), text(seed, 4)
    loss, _ = segment_loss(model, segment(given_, wanted, [4, short]), label_smoothing=smoothing)
    features, state = model.advance(given_, model.start(rows(2), 4))
    chosen, mean = model.readout_of(state).log_probs(features, wanted)
    costs = -(1 - smoothing) * chosen - smoothing * mean
    torch.testing.assert_close(loss, costs[0].sum() + costs[1, :short].sum())


@of_each_kind
@few
@given(seed=st.integers(0, 99), cut=st.integers(1, 5))
def test_segments_one_after_another_cost_what_the_whole_costs(name: str, seed: int, cut: int) -> None:
    model, (given_, wanted) = tiny_language_model(name), text(seed, 6)
    whole, _ = segment_loss(model, segment(given_, wanted, [6, 6], fresh=True))
    first, carry = segment_loss(model, segment(given_[:, :cut], wanted[:, :cut], [cut, cut], fresh=True))
    second, _ = segment_loss(model, segment(given_[:, cut:], wanted[:, cut:], [6 - cut, 6 - cut]), carry)
    torch.testing.assert_close(first + second, whole)


@of_each_kind
def test_what_is_carried_is_forgotten_where_a_text_begins_and_where_rows_are_others(name: str) -> None:
    model, (given_, wanted) = tiny_language_model(name), text(0, 4)
    batch = segment(given_, wanted, [4, 4], fresh=True)
    plain, carry = segment_loss(model, batch)
    assert torch.equal(segment_loss(model, batch, carry)[0], plain)
    on, _ = segment_loss(model, segment(given_, wanted, [4, 4]), carry)
    assert not torch.equal(on, plain)
    one = segment(given_[:1], wanted[:1], [4])
    torch.testing.assert_close(segment_loss(model, one, carry)[0], segment_loss(model, one)[0])


def test_a_transformer_without_memory_carries_nothing() -> None:
    given_, wanted = text(0, 4)
    model = tiny_language_model("transformer-sinusoidal")
    assert segment_loss(model, segment(given_, wanted, [4, 4]))[1] is None


@pytest.mark.parametrize(("activation", "change"), [(2.0, 0.0), (0.0, 3.0), (2.0, 1.0)])
def test_penalties_are_mean_squares_summed_over_wanted_tokens(activation: float, change: float) -> None:
    model, (given_, wanted) = tiny_language_model("recurrent-lstm-none"), text(0, 4)
    batch = segment(given_, wanted, [4, 2])
    plain, _ = segment_loss(model, batch)
    more, _ = segment_loss(model, batch, penalty=Penalty(activation=activation, change=change))
    raw = model.read(given_, model.start(rows(2), 4)).raw
    squares = sum(raw[row, place].square().mean() for row, end in ((0, 4), (1, 2)) for place in range(end))
    steps = [(row, place) for row, end in ((0, 4), (1, 2)) for place in range(1, end)]
    changes = sum((raw[row, place] - raw[row, place - 1]).square().mean() for row, place in steps)
    torch.testing.assert_close(more - plain, activation * squares + change * changes)
