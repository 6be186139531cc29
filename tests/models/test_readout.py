"""The readout: chunks change nothing, and everything agrees with plain cross-entropy."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from regard.models import LinearReadout
from regard.models.generator import Readout
from regard.nn import TokenEmbedding


def losses(readout: LinearReadout, features: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    chosen, mean = readout.log_probs(features, targets)
    return -((1 - smoothing) * chosen + smoothing * mean)


@given(
    rows=st.lists(st.integers(0, 4), min_size=0, max_size=2),
    size=st.integers(1, 9),
    largest=st.integers(1, 60),
    smoothing=st.floats(0, 0.9),
    bias=st.booleans(),
    tied=st.booleans(),
    multiple=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_losses_and_gradients_are_those_of_cross_entropy_however_it_is_cut(
    rows: list[int], size: int, largest: int, smoothing: float, bias: bool, tied: bool, multiple: int, seed: int
) -> None:
    torch.manual_seed(seed)
    shared = TokenEmbedding(size, 3).double() if tied else None
    readout = LinearReadout(3, size, shared=shared, bias=bias, largest=largest).double()
    features = torch.randn(*rows, 3, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(size, rows)
    share = torch.rand(rows, dtype=torch.float64)
    inputs = [features, readout.weight] + ([readout.bias] if readout.bias is not None else [])

    with pytest.MonkeyPatch.context() as patch:
        # CUDA devices want numbers of tokens rounded up.
        patch.setattr("regard.models.readout.fast_multiple", lambda *_: multiple)
        ours = losses(readout, features, targets, smoothing)
    logits = F.linear(features, readout.weight, readout.bias).reshape(-1, size)
    theirs = F.cross_entropy(logits, targets.reshape(-1), reduction="none", label_smoothing=smoothing).reshape(rows)

    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad((loss * share).sum(), inputs) for loss in (ours, theirs)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("largest", [1, 12, 1000])
def test_gradients_agree_with_finite_differences(largest: int) -> None:
    readout = LinearReadout(3, 4, largest=largest).double()
    features = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(4, (5,))
    assert torch.autograd.gradcheck(lambda *_: readout.log_probs(features, targets), (features, *readout.parameters()))


@pytest.mark.parametrize("frozen", ["vectors", "bias", "features"])
def test_what_needs_no_gradient_gets_none_and_leaves_the_others_as_they_were(frozen: str) -> None:
    readout = LinearReadout(3, 4, largest=8)
    features = torch.randn(5, 3, requires_grad=True)
    parts = {"vectors": readout.vectors, "bias": readout.bias, "features": features}
    readout.log_probs(features, torch.arange(5) % 4)[0].sum().backward()
    before = {name: part.grad.clone() for name, part in parts.items()}
    for part in parts.values():
        part.grad = None
    parts[frozen].requires_grad_(False)
    readout.log_probs(features, torch.arange(5) % 4)[0].sum().backward()
    assert parts[frozen].grad is None
    for name in parts.keys() - {frozen}:
        assert torch.equal(parts[name].grad, before[name])


@pytest.mark.parametrize("largest", [8, 1000])
def test_mixed_precision_multiplies_in_bfloat16_and_gives_float32(largest: int) -> None:
    readout = LinearReadout(8, 6, largest=largest)
    features = torch.randn(7, 8, requires_grad=True)
    targets = torch.arange(7) % 6
    with torch.autocast("cpu", dtype=torch.bfloat16):
        chosen, mean = readout.log_probs(features, targets)
    assert (chosen.dtype, mean.dtype) == (torch.float32, torch.float32)
    (chosen + mean).sum().backward()
    assert (features.grad.dtype, readout.vectors.grad.dtype) == (torch.float32, torch.float32)

    exact = F.linear(features.detach().bfloat16(), readout.weight.bfloat16(), readout.bias.bfloat16()).float()
    torch.testing.assert_close(chosen, exact.log_softmax(-1).gather(-1, targets[:, None])[:, 0])
    wanted = torch.autograd.grad(-2 * losses(readout, features, targets, 0.5).sum(), readout.vectors)[0]
    torch.testing.assert_close(readout.vectors.grad, wanted, atol=0.03, rtol=0.03)


def test_logits_start_near_the_uniform_distribution_for_normalized_features() -> None:
    readout = LinearReadout(64, 300, shared=TokenEmbedding(300, 64))
    logits = readout.logits(F.layer_norm(torch.randn(50, 64), (64,)))
    assert logits.std().item() == pytest.approx(1.0, abs=0.1)


def test_log_probs_of_all_targets_sum_to_one() -> None:
    readout = LinearReadout(3, 7, largest=10)
    features = torch.randn(1, 3).expand(7, 3)
    chosen, mean = readout.log_probs(features, torch.arange(7))
    assert chosen.exp().sum().item() == pytest.approx(1.0, abs=1e-6)
    torch.testing.assert_close(mean, chosen.mean().expand(7))


@given(
    rows=st.lists(st.integers(0, 4), min_size=1, max_size=2),
    size=st.integers(1, 9),
    piece=st.integers(1, 5),
    smoothing=st.floats(0, 0.9),
    bias=st.booleans(),
    tied=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_cost_and_its_gradients_are_those_of_cross_entropy_over_what_is_kept(
    rows: list[int], size: int, piece: int, smoothing: float, bias: bool, tied: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    shared = TokenEmbedding(size, 3).double() if tied else None
    readout = LinearReadout(3, size, shared=shared, bias=bias).double()
    features = torch.randn(*rows, 3, dtype=torch.float64, requires_grad=True)
    targets, keep = torch.randint(size, rows), torch.rand(rows) < 0.7
    inputs = [features, readout.weight] + ([readout.bias] if readout.bias is not None else [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.models.readout.CACHED", piece * size)
        patch.setattr("regard.models.readout.FEWEST", 1)
        ours = readout.cost(features, targets, keep, smoothing)
    logits = F.linear(features[keep], readout.weight, readout.bias)
    theirs = F.cross_entropy(logits, targets[keep], reduction="sum", label_smoothing=smoothing)
    by_definition = Readout.cost(readout, features, targets, keep, smoothing)

    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours, by_definition)
    gradients = [torch.autograd.grad(3 * cost, inputs) for cost in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_a_token_that_cannot_come_costs_nothing_where_nothing_is_smoothed() -> None:
    readout = LinearReadout(3, 5)
    with torch.no_grad():
        readout.bias[4] = -torch.inf
    targets, keep = torch.tensor([0, 1]), torch.ones(2, dtype=torch.bool)
    cost = readout.cost(torch.randn(2, 3), targets, keep, 0.0)
    assert cost.isfinite()
    cost.backward()
    assert readout.bias.grad is not None
    assert readout.bias.grad.isfinite().all()


def test_the_cost_is_the_same_where_nobody_wants_its_gradient() -> None:
    readout, features, targets = LinearReadout(3, 4), torch.randn(5, 3), torch.arange(5) % 4
    keep = torch.tensor([True, False, True, True, False])
    cost = readout.cost(features, targets, keep, 0.1)
    with torch.no_grad():
        torch.testing.assert_close(readout.cost(features, targets, keep, 0.1), cost.detach())
    # What is not kept has no say, even if it is not finite.
    features[1] = torch.nan
    assert torch.equal(readout.cost(features, targets, keep, 0.1), cost)


@pytest.mark.parametrize("frozen", ["vectors", "bias", "features"])
def test_what_needs_no_gradient_of_the_cost_gets_none(frozen: str) -> None:
    readout = LinearReadout(3, 4)
    features = torch.randn(5, 3, requires_grad=True)
    parts = {"vectors": readout.vectors, "bias": readout.bias, "features": features}
    parts[frozen].requires_grad_(False)
    readout.cost(features, torch.arange(5) % 4, torch.ones(5, dtype=torch.bool), 0.1).backward()
    assert [name for name, part in parts.items() if part.grad is None] == [frozen]


def test_the_cost_in_mixed_precision_is_that_of_log_probs() -> None:
    readout = LinearReadout(8, 6)
    features, targets, keep = torch.randn(7, 8, requires_grad=True), torch.arange(7) % 6, torch.arange(7) != 3
    with torch.autocast("cpu", dtype=torch.bfloat16):
        costs = [cost(features, targets, keep, 0.1) for cost in (readout.cost, partial(Readout.cost, readout))]
    found = [torch.autograd.grad(cost, [features, *readout.parameters()]) for cost in costs]
    assert {part.dtype for part in (*costs, *found[0])} == {torch.float32}
    torch.testing.assert_close(*costs)
    torch.testing.assert_close(*found, atol=0.03, rtol=0.03)


def divergence(readout: LinearReadout, first: Tensor, second: Tensor) -> Tensor:
    """As it is written in books."""
    p, q = (readout.logits(features).log_softmax(-1) for features in (first, second))
    return sum(F.kl_div(x, y, reduction="none", log_target=True).sum(-1) for x, y in ((p, q), (q, p)))


@given(
    rows=st.lists(st.integers(0, 4), min_size=0, max_size=2),
    size=st.integers(1, 9),
    largest=st.integers(1, 60),
    bias=st.booleans(),
    tied=st.booleans(),
    seed=st.integers(0, 99),
)
def test_divergence_and_its_gradients_are_those_of_the_definition_however_it_is_cut(
    rows: list[int], size: int, largest: int, bias: bool, tied: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    shared = TokenEmbedding(size, 3).double() if tied else None
    readout = LinearReadout(3, size, shared=shared, bias=bias, largest=largest).double()
    first, second = (torch.randn(*rows, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    share = torch.rand(rows, dtype=torch.float64)
    inputs = [first, second, readout.weight] + ([readout.bias] if readout.bias is not None else [])

    ours, theirs = readout.divergence(first, second), divergence(readout, first, second)
    assert (ours >= 0).all()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(readout.divergence(second, first), ours)
    gradients = [torch.autograd.grad((found * share).sum(), inputs) for found in (ours, theirs)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("largest", [1, 12, 1000])
def test_gradients_of_the_divergence_agree_with_finite_differences(largest: int) -> None:
    readout = LinearReadout(3, 4, largest=largest).double()
    first, second = (torch.randn(5, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(
        lambda *_: readout.divergence(first, second), (first, second, *readout.parameters())
    )


@pytest.mark.parametrize("largest", [8, 1000])
def test_equal_features_do_not_diverge_and_pull_nothing(largest: int) -> None:
    readout = LinearReadout(3, 4, largest=largest)
    features = 30 * torch.randn(5, 3)
    first, second = (features.clone().requires_grad_() for _ in range(2))
    found = readout.divergence(first, second)
    found.sum().backward()
    assert found.tolist() == [0.0] * 5
    assert max(part.grad.abs().max().item() for part in (first, second, readout.vectors, readout.bias)) == 0


@pytest.mark.parametrize("frozen", ["vectors", "bias", "first", "second"])
def test_what_needs_no_gradient_of_the_divergence_gets_none(frozen: str) -> None:
    readout = LinearReadout(3, 4, largest=8)
    first, second = (torch.randn(5, 3, requires_grad=True) for _ in range(2))
    parts = {"vectors": readout.vectors, "bias": readout.bias, "first": first, "second": second}
    parts[frozen].requires_grad_(False)
    readout.divergence(first, second).sum().backward()
    assert [name for name, part in parts.items() if part.grad is None] == [frozen]


def test_the_divergence_of_mixed_precision_is_float32() -> None:
    readout = LinearReadout(8, 6, largest=24)
    first, second = (torch.randn(7, 8, requires_grad=True) for _ in range(2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = readout.divergence(first, second)
    found.sum().backward()
    assert {part.dtype for part in (found, first.grad, second.grad, readout.vectors.grad)} == {torch.float32}
    torch.testing.assert_close(found, divergence(readout, first, second), atol=0.05, rtol=0.05)
