"""Normalizers: laws for all, numbers against bisection in float64, gradients against finite differences."""

import pytest
import torch
from attention_strategies import coins, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from regard.attention import NORMALIZERS, as_normalizer, entmax15, proportional, softmax, sparsemax
from regard.errors import UsageError

each = pytest.mark.parametrize("name", NORMALIZERS)
spreads = st.sampled_from([0.1, 1.0, 10.0, 1000.0])


def bisected(scores: Tensor, power: float) -> Tensor:
    """p = clip(z − τ, 0)^power with Σ p = 1, τ found by halving an interval; z are the scores over `power`."""
    z = scores / power
    low, high = z.amax(-1, keepdim=True) - 1, z.amax(-1, keepdim=True)
    for _ in range(80):
        middle = (low + high) / 2
        too_low = (z - middle).clamp_min(0).pow(power).sum(-1, keepdim=True) > 1
        low, high = torch.where(too_low, middle, low), torch.where(too_low, high, middle)
    return (z - low).clamp_min(0).pow(power)


@each
@given(rows=sizes, keys=sizes, spread=spreads, seed=seeds)
def test_weights_are_a_distribution_over_what_may_be_seen(
    name: str, rows: int, keys: int, spread: float, seed: int
) -> None:
    scores, mask = normal(rows, keys, seed=seed) * spread, coins(rows, keys, seed=seed)
    weights = NORMALIZERS[name](scores, mask)
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double())


@each
@given(keys=sizes, spread=spreads, seed=seeds, shift=st.floats(-100, 100))
def test_neither_order_nor_a_common_shift_matters(name: str, keys: int, spread: float, seed: int, shift: float) -> None:
    scores = normal(3, keys, seed=seed) * spread
    order = torch.randperm(keys, generator=torch.Generator().manual_seed(seed))
    weights = NORMALIZERS[name](scores, None)
    torch.testing.assert_close(NORMALIZERS[name](scores[:, order], None), weights[:, order])
    torch.testing.assert_close(NORMALIZERS[name](scores + shift, None), weights, rtol=1e-9, atol=1e-9)


@each
@given(keys=sizes, more=sizes, seed=seeds)
def test_masked_keys_change_nothing_for_the_others(name: str, keys: int, more: int, seed: int) -> None:
    scores = normal(3, keys, seed=seed)
    padded = torch.cat([scores, normal(3, more, seed=seed + 1) * 100], dim=-1)
    mask = torch.arange(keys + more) < keys
    weights = NORMALIZERS[name](padded, mask)[:, :keys]
    torch.testing.assert_close(weights, NORMALIZERS[name](scores, None))


@given(rows=sizes, keys=st.integers(1, 12), spread=spreads, seed=seeds)
def test_sparsemax_and_entmax_agree_with_bisection(rows: int, keys: int, spread: float, seed: int) -> None:
    scores = normal(rows, keys, seed=seed) * spread
    torch.testing.assert_close(sparsemax(scores), bisected(scores, 1), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(entmax15(scores), bisected(scores, 2), rtol=1e-9, atol=1e-9)


def test_sparsemax_of_two_is_the_clipped_line() -> None:
    scores = torch.stack([torch.linspace(-2, 2, 9), torch.zeros(9)], dim=-1)
    expected = ((1 + scores[:, 0]) / 2).clamp(0, 1)
    torch.testing.assert_close(sparsemax(scores)[:, 0], expected)


def test_sparseness_grows_from_softmax_over_entmax_to_sparsemax() -> None:
    scores = torch.linspace(-2, 2, 20)[None]
    counts = [int((NORMALIZERS[name](scores, None) > 0).sum()) for name in ("softmax", "entmax15", "sparsemax")]
    assert counts[0] == 20 > counts[1] > counts[2]


@each
def test_equal_scores_get_equal_weights(name: str) -> None:
    torch.testing.assert_close(NORMALIZERS[name](torch.full((2, 7), 5.0), None), torch.full((2, 7), 1 / 7))


@each
@given(seed=seeds, spread=st.sampled_from([0.3, 1.0, 3.0]))
def test_gradients_agree_with_finite_differences(name: str, seed: int, spread: float) -> None:
    # Not where a key enters or leaves the support: there the derivative is one-sided.
    scores = (normal(3, 5, seed=seed) * spread).detach()
    weights = NORMALIZERS[name](scores, None)
    scores = scores[((weights == 0) | (weights > 1e-4)).all(-1)].requires_grad_()
    assert gradcheck(lambda s: NORMALIZERS[name](s, None), (scores,))


@each
def test_masked_gradients_agree_with_finite_differences(name: str) -> None:
    mask = torch.tensor([[True, False, True, True], [False, False, True, False]])
    assert gradcheck(lambda s: NORMALIZERS[name](s, mask), (normal(2, 4, seed=3, grad=True),))


@pytest.mark.parametrize("normalizer", [*NORMALIZERS.values(), proportional])
def test_a_row_that_may_see_nothing_gets_zeros_and_zero_gradients(normalizer: object) -> None:
    assert callable(normalizer)
    scores = normal(2, 3, grad=True)
    mask = torch.tensor([[False, False, False], [True, True, False]])
    weights = normalizer(scores, mask)
    assert (weights[0] == 0).all()
    weights.square().sum().backward()
    assert scores.grad is not None
    assert (scores.grad[0] == 0).all()
    assert scores.grad.isfinite().all()


@each
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_huge_scores_in_low_precision_stay_sound(name: str, dtype: torch.dtype) -> None:
    scores = torch.tensor([[3e4, 3e4, -3e4, 0.0]], dtype=dtype, requires_grad=True)
    weights = NORMALIZERS[name](scores, torch.tensor([True, True, True, False]))
    assert weights.dtype == dtype
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=dtype), rtol=1e-6, atol=0)
    weights[0, 0].backward()
    assert scores.grad is not None
    assert scores.grad.dtype == dtype
    assert scores.grad.isfinite().all()


@each
def test_many_keys_in_float32_still_sum_to_one(name: str) -> None:
    weights = NORMALIZERS[name](torch.randn(4, 3000) * 0.01, None)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4), rtol=0, atol=1e-5)


def test_proportional_divides_by_the_sum_of_what_is_seen() -> None:
    scores = torch.tensor([[1.0, 3.0, 4.0], [-1.0, 0.0, -2.0]])
    mask = torch.tensor([True, True, False])
    assert proportional(scores).tolist() == [[0.125, 0.375, 0.5], [0, 0, 0]]
    assert proportional(scores, mask).tolist() == [[0.25, 0.75, 0], [0, 0, 0]]


def test_a_normalizer_goes_by_its_name_or_is_a_function() -> None:
    assert as_normalizer("sparsemax") is sparsemax
    assert as_normalizer(softmax) is softmax


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        as_normalizer("entmax")
    assert str(error.value) == (
        "normalizer 'entmax' is not known; known are 'entmax15', 'softmax' or 'sparsemax', or give a function"
    )
