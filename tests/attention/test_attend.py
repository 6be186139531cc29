"""`attend` against loops, `Attention` against `attend` and torch's kernel, watched and unwatched."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from attention_strategies import coins, loop_attention, normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import NORMALIZERS, SCORES, Additive, Attention, DotScore, ScaledDot, attend, causal, combine
from regard.errors import UsageError
from regard.tap import intervene, record

each_score = pytest.mark.parametrize("score", SCORES)


def build(score: str = "scaled_dot", normalizer: str = "softmax", heads: int = 4, dropout: float = 0.0) -> Attention:
    return Attention(SCORES[score](4, 4, hidden=3, heads=heads), normalizer, dropout).double()


def parts(seed: int = 0, groups: int = 4, queries: int = 3, keys: int = 5, grad: bool = False) -> list[Tensor]:
    """Query, key and value of a batch of two with four heads."""
    shapes = [(4, queries, 4), (groups, keys, 4), (groups, keys, 6)]
    return [normal(2, *shape, seed=seed + place, grad=grad) for place, shape in enumerate(shapes)]


@given(queries=sizes, keys=sizes, seed=seeds)
def test_attend_follows_its_equations(queries: int, keys: int, seed: int) -> None:
    query, key, value = normal(queries, 3, seed=seed), normal(keys, 3, seed=seed + 1), normal(keys, 2, seed=seed + 2)
    mask = coins(queries, keys, seed=seed)
    bias = normal(queries, keys, seed=seed + 3)
    expected = loop_attention(query, key, value, lambda q, k: q @ k / 3**0.5, mask, bias)
    torch.testing.assert_close(attend(query, key, value, mask=mask, bias=bias), expected)


def test_self_attention_without_any_weights() -> None:
    x = normal(7, 3)
    context, weights = attend(x, x, x)
    torch.testing.assert_close((context, weights), loop_attention(x, x, x, lambda q, k: q @ k / 3**0.5))


def test_attend_takes_names_functions_and_prepared_keys() -> None:
    query, key, value = parts()
    context, _ = attend(query, key, value, score=lambda q, k: q @ k.mT, normalizer="sparsemax")
    torch.testing.assert_close(context, NORMALIZERS["sparsemax"](query @ key.mT, None) @ value)
    score = Additive(4, 4, hidden=3).double()
    torch.testing.assert_close(
        attend(query, score.prepare(key), value, score=score, prepared=True), attend(query, key, value, score=score)
    )


@each_score
@given(
    normalizer=st.sampled_from(list(NORMALIZERS)),
    seed=seeds,
    groups=st.sampled_from([1, 2, 4]),
    masked=st.sampled_from(["none", "padding", "each"]),
    biased=st.booleans(),
    is_causal=st.booleans(),
    queries=st.sampled_from([1, 3, 5]),
)
def test_the_module_is_the_definition(
    score: str, normalizer: str, seed: int, groups: int, masked: str, biased: bool, is_causal: bool, queries: int
) -> None:
    attention = build(score, normalizer)
    query, key, value = parts(seed, groups, queries)
    mask = {"none": None, "padding": coins(2, 1, 1, 5, seed=seed), "each": coins(2, 1, queries, 5, seed=seed)}[masked]
    bias = normal(4, queries, 5, seed=seed) if biased else None
    every = combine(mask, causal(queries, 5) if is_causal else None)
    expected, weights = attend(query, key, value, score=attention.score, normalizer=normalizer, mask=every, bias=bias)
    arguments: dict[str, Any] = {"mask": mask, "bias": bias, "causal": is_causal}
    unwatched = attention(query, key, value, **arguments)
    torch.testing.assert_close(unwatched, expected)
    assert torch.equal(attention(query, attention.prepare(key), value, **arguments, prepared=True), unwatched)
    with record(attention) as seen:
        assert torch.equal(attention(query, key, value, **arguments), unwatched)
    torch.testing.assert_close(seen.last("weights"), weights)
    assert seen.last("scores").shape == weights.shape
    assert torch.equal(seen.last("context"), unwatched)
    with intervene(attention, "weights", lambda weights: weights):
        torch.testing.assert_close(attention(query, key, value, **arguments), unwatched)


@given(seed=seeds, queries=sizes, keys=sizes)
def test_weights_shown_are_those_of_the_fast_kernel(seed: int, queries: int, keys: int) -> None:
    # With the identity as values, the kernel's context is its weights.
    query, key, _ = parts(seed, queries=queries, keys=keys)
    values = torch.eye(keys, dtype=torch.float64).expand(2, 4, keys, keys)
    attention = Attention(ScaledDot())
    with record(attention, "weights") as seen:
        context = attention(query, key, values)
    torch.testing.assert_close(seen.last("weights"), context)
    torch.testing.assert_close(context, F.scaled_dot_product_attention(query, key, values))


@pytest.mark.parametrize("score", [name for name in SCORES if isinstance(build(name).score, DotScore)])
def test_unwatched_dot_products_run_in_the_fused_kernel(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    kernel = F.scaled_dot_product_attention

    def counted(*args: Any, **kwargs: Any) -> Tensor:
        calls.append(kwargs["is_causal"])
        return kernel(*args, **kwargs)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    attention, (query, key, value) = build(score), parts(queries=5)
    attention(query, key, value, causal=True)
    with record(attention):
        attention(query, key, value)
    assert calls == [True, False]
    with intervene(attention, "scores", lambda scores: scores):
        attention(query, key, value)
    assert len(calls) == 2


@each_score
@pytest.mark.parametrize("way", ["mask", "mask and bias", "intervened"])
def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients(score: str, way: str) -> None:
    attention, tensors = build(score), parts(grad=True)
    mask = torch.ones(2, 1, 3, 5, dtype=torch.bool)
    mask[0, :, 1] = False
    bias = normal(4, 3, 5, grad=True) if way == "mask and bias" else None
    if way == "intervened":
        with intervene(attention, "weights", lambda weights: weights):
            context = attention(*tensors, mask=mask)
    else:
        context = attention(*tensors, mask=mask, bias=bias)
    assert (context[0, :, 1] == 0).all()
    (context.sum() + context.square().sum()).backward()
    for tensor in (*tensors, *attention.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    assert (tensors[0].grad[0, :, 1] == 0).all()


@each_score
@given(seed=seeds, more=sizes)
def test_padding_changes_nothing(score: str, seed: int, more: int) -> None:
    attention, (query, key, value) = build(score), parts(seed)
    longer = [torch.cat([tensor, normal(2, 4, more, tensor.shape[-1], seed=9)], dim=2) for tensor in (key, value)]
    keep = torch.arange(5 + more) < 5
    torch.testing.assert_close(attention(query, *longer, mask=keep), attention(query, key, value))


@each_score
def test_gradients_do_not_depend_on_the_path(score: str) -> None:
    attention, tensors = build(score), parts(grad=True)
    fast = torch.autograd.grad(attention(*tensors).square().sum(), [*tensors, *attention.parameters()])
    with intervene(attention, "weights", lambda weights: weights):
        plain = torch.autograd.grad(attention(*tensors).square().sum(), [*tensors, *attention.parameters()])
    torch.testing.assert_close(fast, plain)


def test_intervening_on_scores_or_weights_changes_what_is_mixed() -> None:
    attention, (query, key, value) = build(), parts()
    with intervene(attention, "scores", torch.zeros_like):
        torch.testing.assert_close(attention(query, key, value), value.mean(2, keepdim=True).expand(2, 4, 3, 6))
    with intervene(attention, "weights", lambda weights: F.one_hot(weights.argmax(-1), 5).double()):
        first = attention(query, key, value)[0, 0, 0]
    assert any(torch.equal(first, row) for row in value[0, 0])
    with intervene(attention, "context", torch.zeros_like):
        assert (attention(query, key, value) == 0).all()


def test_intervened_scores_stay_masked() -> None:
    attention, (query, key, value) = build(), parts()
    mask = torch.tensor([True, True, False, False, False])
    with intervene(attention, "scores", lambda scores: scores + 100), record(attention, "weights") as seen:
        attention(query, key, value, mask=mask)
    assert (seen.last("weights")[..., 2:] == 0).all()


@each_score
def test_dropout_falls_on_the_weights_in_training_only(score: str) -> None:
    attention, (query, key, value) = build(score, dropout=0.5), parts(keys=64)
    with record(attention, "weights") as seen:
        noisy = attention(query, key, value)
    torch.testing.assert_close(seen.last("weights").sum(-1), torch.ones(2, 4, 3, dtype=torch.float64))
    quiet = attention.eval()(query, key, value)
    assert not torch.allclose(noisy, quiet)
    torch.testing.assert_close(quiet, attend(query, key, value, score=attention.score)[0])


def test_half_of_dropped_weights_are_doubled() -> None:
    attention = Attention(lambda query, key: query @ key.mT, dropout=0.5)
    values = torch.eye(64)[None, None]
    mixed = attention(torch.zeros(1, 1, 200, 2), torch.zeros(1, 1, 64, 2), values)
    assert set((mixed * 64).unique().tolist()) == {0.0, 2.0}
    assert mixed.sum(-1).mean().item() == pytest.approx(1, abs=0.05)


def test_heads_that_cannot_be_shared_are_refused() -> None:
    query, key = torch.randn(3, 4, 8), torch.randn(2, 5, 8)
    with pytest.raises(UsageError) as refusal:
        attend(query, key, key)
    assert "3 heads of queries cannot share 2 heads of keys and values evenly" in str(refusal.value)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_a_bias_that_hides_everything_gives_zeros_on_every_path(normalizer: str) -> None:
    query, key, value = (part.requires_grad_() for part in parts(1))
    bias = torch.zeros(1, 1, 3, 5).index_fill(2, torch.tensor([1]), -torch.inf).to(query.dtype)
    attention = Attention(ScaledDot(), normalizer)
    with intervene(attention, "weights", lambda weights: weights):
        plain = attention(query, key, value, bias=bias)
    fast = attention(query, key, value, bias=bias)
    defined, _ = attend(query, key, value, normalizer=normalizer, bias=bias)
    for context in (plain, fast, defined):
        torch.testing.assert_close(context, plain)
        assert not context[:, :, 1].any()
        gradients = torch.autograd.grad(context.sum(), (query, key, value))
        assert all(gradient.isfinite().all() for gradient in gradients)
