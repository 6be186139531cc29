"""Scores: laws for all of them, numbers against loops written from the equations in float64."""

import doctest
import math
from collections.abc import Callable

import pytest
import torch
from attention_strategies import normal, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from regard.attention import (
    SCORES,
    Additive,
    Concatenation,
    Cosine,
    Dot,
    Function,
    Gaussian,
    InverseDistance,
    Multiplicative,
    ScaledDot,
    Score,
    as_score,
    attend,
    proportional,
)
from regard.attention import scores as module
from regard.attention.additive import tanh_energy
from regard.errors import UsageError
from regard.models import build_model
from regard.recipe import Recipe, parse_recipe

each = pytest.mark.parametrize("name", SCORES)


def build(name: str, width: int = 4, heads: int = 1) -> Score:
    return SCORES[name](width, width, hidden=3, heads=heads).double()


@torch.no_grad()
def by_loops(score: Callable[[Tensor, Tensor], Tensor | float], query: Tensor, key: Tensor) -> Tensor:
    return torch.tensor([[float(score(q, k)) for k in key] for q in query], dtype=torch.float64)


EQUATIONS: dict[str, tuple[Score, Callable[[Tensor, Tensor], Tensor | float]]] = {
    "dot": (Dot(), lambda q, k: sum(a * b for a, b in zip(q, k, strict=True))),
    "scaled_dot": (ScaledDot(), lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q))),
    "cosine": (Cosine(2.5), lambda q, k: 2.5 * (q @ k) / math.sqrt((q @ q) * (k @ k))),
    "inverse_distance": (InverseDistance(0.25), lambda q, k: 1 / (math.dist(q.tolist(), k.tolist()) + 0.25)),
    "gaussian": (Gaussian(0.7), lambda q, k: -(math.dist(q.tolist(), k.tolist()) ** 2) / (2 * 0.7**2)),
}


@pytest.mark.parametrize("name", EQUATIONS)
@given(queries=sizes, keys=sizes, width=sizes, seed=seeds)
def test_scores_without_parameters_follow_their_equations(
    name: str, queries: int, keys: int, width: int, seed: int
) -> None:
    score, equation = EQUATIONS[name]
    query, key = normal(queries, width, seed=seed), normal(keys, width, seed=seed + 1)
    torch.testing.assert_close(score(query, key), by_loops(equation, query, key))


@given(queries=sizes, keys=sizes, query_width=sizes, key_width=sizes, seed=seeds)
def test_multiplicative_is_the_bilinear_form(
    queries: int, keys: int, query_width: int, key_width: int, seed: int
) -> None:
    score = Multiplicative(query_width, key_width).double()
    query, key = normal(queries, query_width, seed=seed), normal(keys, key_width, seed=seed + 1)

    def equation(q: Tensor, k: Tensor) -> Tensor:
        return sum(q[i] * score.weight[i, j] * k[j] for i in range(query_width) for j in range(key_width))

    torch.testing.assert_close(score(query, key), by_loops(equation, query, key))


@given(queries=sizes, keys=sizes, query_width=sizes, key_width=sizes, seed=seeds)
def test_additive_follows_bahdanau(queries: int, keys: int, query_width: int, key_width: int, seed: int) -> None:
    score = Additive(query_width, key_width, hidden=3).double()
    query, key = normal(queries, query_width, seed=seed), normal(keys, key_width, seed=seed + 1)

    def equation(q: Tensor, k: Tensor) -> Tensor:
        return score.energy @ torch.tanh(score.query_weight.T @ q + score.key_weight.T @ k)

    torch.testing.assert_close(score(query, key), by_loops(equation, query, key))


@given(query_width=sizes, key_width=sizes, heads=st.integers(1, 3), seed=seeds)
def test_concatenation_is_additive(query_width: int, key_width: int, heads: int, seed: int) -> None:
    score = Concatenation(query_width, key_width, hidden=3, heads=heads).double()
    query, key = normal(heads, 2, query_width, seed=seed), normal(heads, 4, key_width, seed=seed + 1)
    literally = torch.empty(heads, 2, 4, dtype=torch.float64)
    for h in range(heads):
        weight, energy = (score.weight, score.energy) if heads == 1 else (score.weight[h], score.energy[h])
        literally[h] = by_loops(lambda q, k, w=weight, v=energy: v @ (torch.cat([q, k]) @ w).tanh(), query[h], key[h])
    torch.testing.assert_close(score(query, key), literally)
    additive = Additive(query_width, key_width, hidden=3, heads=heads).double()
    with torch.no_grad():
        for weight, part in zip((additive.query_weight, additive.key_weight), score.halves(), strict=True):
            weight.copy_(part)
        additive.energy.copy_(score.energy)
    torch.testing.assert_close(additive(query, key), literally)


@each
@given(seed=seeds)
def test_queries_that_were_mapped_elsewhere_score_the_same(name: str, seed: int) -> None:
    score = build(name)
    query, prepared = normal(2, 4, seed=seed), score.prepare(normal(3, 4, seed=seed + 1))
    matrix = score.query_map()
    mapped = query if matrix is None else query @ matrix
    torch.testing.assert_close(score.compare_mapped(mapped, prepared), score.compare(query, prepared))
    assert (matrix is not None) is (name in ("multiplicative", "additive", "concatenation"))
    assert build(name, heads=2).query_map() is None


@each
@given(heads=st.integers(1, 3), seed=seeds)
def test_any_leading_axes_give_what_each_pair_of_matrices_gives(name: str, heads: int, seed: int) -> None:
    score = build(name)
    query, key = normal(2, heads, 3, 4, seed=seed), normal(2, heads, 5, 4, seed=seed + 1)
    whole = score(query, key)
    assert whole.shape == (2, heads, 3, 5)
    for b in range(2):
        for h in range(heads):
            torch.testing.assert_close(score(query[b, h], key[b, h]), whole[b, h])


@each
def test_heads_have_parameters_of_their_own(name: str) -> None:
    score, single = build(name, heads=3), build(name)
    query, key = normal(2, 3, 4, 4), normal(2, 3, 5, 4, seed=1)
    whole = score(query, key)
    for h in range(3):
        single.load_state_dict({key: value[h] for key, value in score.state_dict().items()})
        torch.testing.assert_close(whole[:, h], single(query[:, h], key[:, h]))


@each
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_grouped_keys_are_repeated_keys(name: str, groups: int) -> None:
    score = build(name, heads=4)
    query, key = normal(2, 4, 3, 4), normal(2, groups, 5, 4, seed=1)
    repeated = key.repeat_interleave(4 // groups, dim=1)
    torch.testing.assert_close(score(query, key), score(query, repeated))


@each
def test_keys_are_prepared_once_for_many_queries(name: str) -> None:
    score = build(name)
    query, key = normal(2, 3, 4), normal(2, 5, 4, seed=1)
    prepared = score.prepare(key)
    one_by_one = torch.cat([score.compare(query[:, i : i + 1], prepared) for i in range(3)], dim=1)
    torch.testing.assert_close(one_by_one, score(query, key))


@each
@pytest.mark.parametrize("heads", [1, 2])
def test_gradients_agree_with_finite_differences(name: str, heads: int) -> None:
    score = build(name, heads=heads)
    assert gradcheck(score, (normal(1, heads, 2, 4, grad=True), normal(1, heads, 3, 4, seed=1, grad=True)))


@pytest.mark.parametrize(
    ("query", "key"),
    [((2, 3, 2, 4), (3, 5, 4)), ((2, 4), (6, 5, 4)), ((2, 1, 1, 4), (2, 3, 5, 4)), ((1, 4), (5, 4))],
)
def test_additive_gradients_of_broadcast_queries_and_keys(query: tuple[int, ...], key: tuple[int, ...]) -> None:
    score = build("additive")
    tensors = [normal(*query, grad=True), normal(*key, seed=1, grad=True)]
    assert isinstance(score, Additive)
    halves = (tensors[0] @ score.query_weight).unsqueeze(-2), (tensors[1] @ score.key_weight).unsqueeze(-3)
    inputs = [*tensors, *score.parameters()]
    expected = torch.autograd.grad((sum(halves).tanh() @ score.energy).square().sum(), inputs)
    torch.testing.assert_close(torch.autograd.grad(score(*tensors).square().sum(), inputs), expected)


@pytest.mark.parametrize("heads", [(), (2,)])
@pytest.mark.parametrize(("query", "key"), [((3, 2, 1, 4), (3, 2, 5, 4)), ((2, 2, 4), (2, 6, 4))])
def test_a_tanh_that_is_computed_again_is_the_one_that_was_kept(
    heads: tuple[int, ...], query: tuple[int, ...], key: tuple[int, ...]
) -> None:
    given = [normal(*query, grad=True), normal(*key, seed=1, grad=True), normal(*heads, 4, seed=2, grad=True)]
    held: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        held[-1] = max(held[-1], tensor.numel())
        return tensor

    found = []
    for recompute in (True, False):
        held.append(0)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            scores = tanh_energy(*given, recompute=recompute)
        found.append((scores, *torch.autograd.grad(scores.square().sum(), given)))
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    assert held == [given[1].numel(), scores.numel() * 4]


def test_additive_scores_in_mixed_precision_train_float32_weights() -> None:
    score = Additive(4, 4, hidden=3, heads=2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = score(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4))
    assert scores.dtype == torch.bfloat16
    scores.sum().backward()
    for parameter in score.parameters():
        assert parameter.grad is not None
        assert parameter.grad.dtype == torch.float32


@pytest.mark.parametrize("score", [InverseDistance(), Gaussian(), Cosine()], ids=lambda score: type(score).__name__)
def test_gradients_stay_finite_where_a_query_is_a_key_and_where_all_is_zero(score: Score) -> None:
    query = torch.cat([torch.zeros(1, 3), torch.ones(1, 3)]).requires_grad_()
    score(query, query.detach()).sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all()


def test_the_strength_of_a_cosine_can_be_learned_for_each_head() -> None:
    score = Cosine(3.0, learned=True, heads=2)
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    torch.testing.assert_close(score(query, key), Cosine(3.0)(query, key))
    assert score.strength is not None
    with torch.no_grad():
        score.strength[1] = 0
    assert (score(query, key)[:, 1] == 0).all()
    assert (score(query, key)[:, 0] != 0).all()


def test_between_weather_stations_attention_is_interpolation() -> None:
    stations = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 20.0]])
    weather = torch.tensor([[12.0, 0.8], [18.0, 0.4], [6.0, 0.6]])  # temperature, humidity
    places = torch.tensor([[3.0, 4.0], [10.0, 0.0]])
    found, weights = attend(places, stations, weather, score=InverseDistance(), normalizer=proportional)
    distances = [5.0, math.sqrt(49 + 16), math.sqrt(9 + 256)]
    nearness = [1 / distance for distance in distances]
    expected = [sum(n * float(w[i]) for n, w in zip(nearness, weather, strict=True)) / sum(nearness) for i in (0, 1)]
    torch.testing.assert_close(found[0], torch.tensor(expected), rtol=1e-4, atol=0)
    torch.testing.assert_close(found[1], weather[1], rtol=1e-4, atol=0)  # at a station, its own weather
    torch.testing.assert_close(weights.sum(-1), torch.ones(2))


def test_the_example_in_the_documentation_runs() -> None:
    names = {"torch": torch, "attend": attend, "InverseDistance": InverseDistance, "proportional": proportional}
    example = doctest.DocTestParser().get_doctest(module.InverseDistance.__doc__ or "", names, "station", None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_any_function_is_a_score() -> None:
    def manhattan(query: Tensor, key: Tensor) -> Tensor:
        return -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)

    score = as_score(manhattan)
    assert isinstance(score, Function)
    assert as_score(score) is score
    query, key = normal(2, 4, 3, 4), normal(2, 2, 5, 4, seed=1)
    torch.testing.assert_close(score(query, key), manhattan(query, key.repeat_interleave(2, dim=1)))


def test_a_function_that_gives_other_shapes_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        as_score(lambda query, key: key @ query.mT)(torch.zeros(3, 4), torch.zeros(5, 4))
    assert str(error.value) == (
        "a score function must return a score for each of 3 queries and 5 keys, but this one returned the shape (5, 3)"
    )


@each
def test_only_scores_with_a_matrix_compare_different_widths(name: str) -> None:
    if not build(name).equal_widths:
        score = SCORES[name](4, 6, hidden=3)
        assert score(torch.randn(2, 4), torch.randn(5, 6)).shape == (2, 5)
        return
    with pytest.raises(UsageError) as error:
        SCORES[name](4, 6, hidden=3)
    assert str(error.value) == (
        f"the score {name!r} compares vectors of one width, but queries have 4 and keys 6; "
        "project one of them, or use 'multiplicative' or 'additive'"
    )


def test_a_ninth_score_is_a_class_a_function_and_a_line() -> None:
    """Recipes take it by its name, and a model learns with it, without a change anywhere else."""

    def city_block(query_width: int, key_width: int, **_: object) -> Score:
        return Function(lambda query, key: -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1))

    SCORES.register("city_block", city_block)  # type: ignore[attr-defined]
    try:
        recurrent = {"kind": "recurrent", "embedding": 4, "hidden": 4, "attention": {"score": "city_block"}}
        recipe = parse_recipe({"data": {"corpus": "copy"}, "model": recurrent, "train": {"steps": 1}}, kind=Recipe)
        model = build_model(recipe.model, 9, 9)  # type: ignore[attr-defined]
        assert any(isinstance(each, Function) for each in model.modules())
    finally:
        del SCORES._entries["city_block"]  # type: ignore[attr-defined]
