"""Dropout of features, of words and of recurrent weights."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.nn import GRU, Dropout, FeatureDropout, LayerDrop, RecurrentStack, WordDropout
from regard.nn.dropout import drop, dropout_mask


def ones(*shape: int) -> Tensor:
    return torch.ones(shape)


@given(rate=st.floats(0.01, 0.99), shape=st.lists(st.integers(0, 5), max_size=3), seed=st.integers(0, 99))
def test_numbers_are_dropped_or_scaled_up_whatever_their_shape(rate: float, shape: list[int], seed: int) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(seed)
    dropped = drop(x, rate)
    assert dropped.shape == x.shape
    assert ((dropped == 0) | torch.isclose(dropped, x / (1 - rate))).all()
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    assert torch.allclose(gradient * x, dropped)
    torch.manual_seed(seed)
    assert torch.equal(drop(x, rate), dropped)


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.5, 0.9])
def test_the_share_of_what_is_dropped_is_the_rate_and_places_are_independent(rate: float) -> None:
    """Within four standard deviations; so is the share of neighbors, at distances of those that share a draw, that
    are both dropped."""
    torch.manual_seed(1)
    gone = (dropout_mask(ones(400_000), rate) == 0).double()
    for share, expected in [(gone, rate)] + [(gone[:-apart] * gone[apart:], rate**2) for apart in (1, 2, 3, 4)]:
        assert abs(share.mean().item() - expected) < 4 * (expected * (1 - expected) / 400_000) ** 0.5 + 2**-16


@pytest.mark.parametrize("rate", [1e-9, 1 - 1e-9])
def test_rates_beyond_what_is_drawn_are_as_near_as_it_gets(rate: float) -> None:
    torch.manual_seed(1)
    gone = (dropout_mask(ones(10_000), rate) == 0).float().mean().item()
    assert gone == pytest.approx(rate, abs=0.001)


def test_dropout_is_torchs_but_for_what_it_draws() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.3).eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert (Dropout(0.5)(ones(64)) == 0).any()
    assert (Dropout(1.0)(ones(64)) == 0).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        Dropout(1.5)


@given(rate=st.floats(0.1, 0.9), variational=st.booleans())
def test_features_are_dropped_or_scaled_up(rate: float, variational: bool) -> None:
    dropped = FeatureDropout(rate, variational=variational)(ones(40, 10, 30))
    values = torch.tensor([0.0, 1 / (1 - rate)])
    assert torch.isclose(dropped[..., None], values).any(-1).all()
    assert abs(dropped.mean() - 1) < 0.35


def test_a_variational_mask_serves_all_steps_and_differs_between_rows() -> None:
    dropped = FeatureDropout(0.5)(ones(2, 6, 50))
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()
    fresh = FeatureDropout(0.5, variational=False)(ones(2, 6, 50))
    assert (fresh != fresh[:, :1]).any()


@pytest.mark.parametrize("variational", [True, False])
def test_vectors_that_come_step_by_step_are_dropped_likewise(variational: bool) -> None:
    drop = FeatureDropout(0.5, variational=variational).steps()
    first, second = drop(ones(2, 50)), drop(ones(2, 50))
    assert torch.equal(first, second) == variational
    assert set(first.unique().tolist()) == {0.0, 2.0}


@given(
    tokens=st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=4).map(torch.tensor),
    seed=st.integers(0, 999),
)
def test_a_word_is_dropped_at_all_of_its_places_in_a_row(tokens: Tensor, seed: int) -> None:
    torch.manual_seed(seed)
    dropped = WordDropout(0.5)(ones(*tokens.shape, 2), tokens)
    assert (dropped[..., 0] == dropped[..., 1]).all()
    for row, kept in zip(tokens.tolist(), dropped[..., 0].tolist(), strict=True):
        assert len(set(zip(row, kept, strict=True))) == len(set(row))


def test_words_are_dropped_at_their_rate_and_in_each_row_anew() -> None:
    tokens = torch.arange(50).expand(40, 50)
    dropped = WordDropout(0.2)(ones(40, 50, 1), tokens)
    assert abs((dropped == 0).float().mean() - 0.2) < 0.05
    assert (dropped != dropped[0]).any()
    torch.testing.assert_close(dropped.max(), torch.tensor(1.25))


def test_a_blank_stands_in_place_of_dropped_words_and_nothing_is_scaled() -> None:
    tokens = torch.arange(50).expand(40, 50)
    dropped = WordDropout(0.2)(ones(40, 50, 3), tokens, torch.tensor([2.0, 3.0, 4.0]))
    gone = dropped[..., 0] == 2.0
    assert abs(gone.float().mean() - 0.2) < 0.05
    assert set(map(tuple, dropped[gone].tolist())) == {(2.0, 3.0, 4.0)}
    assert set(map(tuple, dropped[~gone].tolist())) == {(1.0, 1.0, 1.0)}


def test_recurrent_weights_are_dropped_at_their_rate() -> None:
    cell = GRU(2, 40, weight_drop=0.25)
    dropped = cell.recurrent_weight()
    assert abs((dropped == 0).float().mean() - 0.25) < 0.05
    torch.testing.assert_close(dropped[dropped != 0], cell.hidden_weight[dropped != 0] / 0.75)
    assert cell.eval().recurrent_weight() is cell.hidden_weight


def test_between_layers_features_are_dropped_step_by_step_as_at_once() -> None:
    stack, x = RecurrentStack("gru", 3, 4, 2, between=0.5), torch.randn(2, 5, 3)
    torch.manual_seed(5)
    at_once, _ = stack(x)
    torch.manual_seed(5)
    steps, layers, outputs = stack.steps(x, late_width=0), stack.initial(x).layers, []
    for _ in range(x.shape[1]):
        output, layers = steps(x[:, 0, :0], layers)
        outputs.append(output)
    torch.testing.assert_close(torch.stack(outputs, 1), at_once)
    assert not torch.allclose(stack(x)[0], at_once)


def test_rows_skip_a_layer_at_their_rate_and_are_else_what_it_makes_of_them() -> None:
    x = torch.randn(2000, 2, 3, requires_grad=True)
    found = LayerDrop(0.3)(x, lambda stream: stream * 2)
    skipped = (found == x).flatten(1).all(1)
    assert torch.equal(found[~skipped], 2 * x[~skipped])
    assert abs(skipped.float().mean() - 0.3) < 0.05
    (gradient,) = torch.autograd.grad(found.sum(), x)
    assert torch.equal(gradient[:, 0, 0], torch.where(skipped, 1.0, 2.0))


def test_a_skipped_layer_keeps_even_what_is_not_finite_to_itself() -> None:
    x = torch.ones(50, 1, 1)
    found = LayerDrop(0.5)(x, lambda stream: stream * torch.nan)
    assert 0 < (found == 1).sum() < 50


def test_nothing_is_dropped_outside_training() -> None:
    x, tokens = torch.randn(2, 3, 4), torch.zeros(2, 3, dtype=torch.long)
    for dropout in (FeatureDropout(0.5), FeatureDropout(0.5, variational=False)):
        assert dropout.eval()(x) is x
        assert dropout.steps()(x[:, 0]).equal(x[:, 0])
    assert WordDropout(0.5).eval()(x, tokens) is x
    assert FeatureDropout(0.0)(x) is x
    assert WordDropout(0.0)(x, tokens) is x
    before = torch.random.get_rng_state()
    assert LayerDrop(0.5).eval()(x, torch.neg).equal(-x)
    assert LayerDrop(0.0)(x, torch.neg).equal(-x)
    assert torch.random.get_rng_state().equal(before)
