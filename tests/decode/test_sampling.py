"""Sampling: frequencies, filters against brute force, and what an outcome depends on."""

import math

import pytest
import torch
from decoding_toys import TableGenerator, UniformGenerator, plain_log_prob, plain_log_probs, random_table
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import Padded
from regard.decode import Hypothesis, decode
from regard.decode.sampling import draw, likely_tokens, uniform_numbers
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, PAD

seeds = st.integers(-5, 2**63 - 1)
SOURCE = Padded.of([[4, 5, END]])


def sample(model: TableGenerator, **changes: object) -> list[Hypothesis]:
    how = Decoding.model_validate({"method": "sample", "longest_factor": 0.0, "longest_extra": 3, **changes})
    [hypotheses] = decode(model, SOURCE, how)
    return hypotheses


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_agree_with_probabilities(temperature: float) -> None:
    model, draws = TableGenerator(random_table(3, 9, spread=1.0)), 4000
    hypotheses = sample(model, n_best=draws, temperature=temperature)
    assert len(hypotheses) == draws
    log_probs = plain_log_probs(model, [4, 5, END], ())
    allowed = [token for token in range(9) if token not in (PAD, BEGIN)]
    weights = {token: math.exp(log_probs[token] / temperature) for token in allowed}
    first = [hypothesis.tokens[0] if hypothesis.tokens else END for hypothesis in hypotheses]
    expected = {token: draws * weight / sum(weights.values()) for token, weight in weights.items()}
    statistic = sum((first.count(token) - count) ** 2 / count for token, count in expected.items())
    assert statistic < 22.5  # the 99.9th percentile of chi-square with 6 degrees of freedom
    for hypothesis in hypotheses[::500]:
        plain = plain_log_prob(model, [4, 5, END], hypothesis.tokens, hypothesis.finished)
        assert hypothesis.log_prob == pytest.approx(plain, abs=1e-4)


@given(seeds, st.integers(1, 12), st.data())
def test_filters_keep_what_brute_force_keeps(seed: int, size: int, data: st.DataObject) -> None:
    probs = torch.randn(size, generator=torch.Generator().manual_seed(seed % 2**63)).mul(2).softmax(-1)
    top_k = data.draw(st.integers(0, size + 2))
    top_p = data.draw(st.sampled_from([0.01, 0.3, 0.5, 0.9, 0.999, 1.0]))
    min_p = data.draw(st.sampled_from([0.0, 0.1, 0.5, 0.99]))
    kept: set[int] = set()
    mass = 0.0
    for rank, token in enumerate(sorted(range(size), key=lambda token: -probs[token])):
        within = (not top_k or rank < top_k) and (mass < top_p - 1e-6 or top_p == 1.0)
        if within and probs[token] >= min_p * probs.max():
            kept.add(token)
        mass += float(probs[token])
    likely = likely_tokens(probs, top_k=top_k, top_p=top_p, min_p=min_p)
    assert set(likely.nonzero().flatten().tolist()) == kept


def test_sampled_tokens_pass_the_filters() -> None:
    model = TableGenerator(random_table(5, 12, spread=1.0))
    log_probs = torch.tensor(plain_log_probs(model, [4, 5, END], ()))
    log_probs[[PAD, BEGIN]] = -torch.inf
    best = set(log_probs.topk(3).indices.tolist())
    seen = {(*hypothesis.tokens, END)[0] for hypothesis in sample(model, n_best=300, top_k=3)}
    assert seen == best


@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 2.0]), min_size=1, max_size=8), st.floats(0, 1 - 2**-23, width=32))
def test_draw_finds_the_share_that_holds_the_number(weights: list[float], uniform: float) -> None:
    drawn = int(draw(torch.tensor(weights), torch.tensor(uniform)))
    if not sum(weights):
        assert drawn == 0
    else:
        assert weights[drawn] > 0
        below, above = sum(weights[:drawn]), sum(weights[: drawn + 1])
        assert below - 1e-5 <= uniform * sum(weights) <= above + 1e-5


def test_any_temperature_gives_finite_probabilities() -> None:
    model = TableGenerator(random_table(2, 9))
    [greedy] = decode(model, SOURCE, Decoding(method="greedy", longest_factor=0.0, longest_extra=3))
    assert [cold.tokens for cold in sample(model, temperature=1e-45)] == [greedy[0].tokens]
    assert all(math.isfinite(hot.score) for hot in sample(model, temperature=1e30, n_best=20))


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_numbers_depend_on_seed_example_and_position_alone(seed: int, example: int) -> None:
    [alone] = uniform_numbers(seed, [example], 1, 4).tolist()
    table = uniform_numbers(seed, [example + 1, example], 2, 9).tolist()
    assert table[2][:4] == alone
    assert len({tuple(row) for row in table}) == 4
    assert all(0 <= number < 1 for row in table for number in row)
    assert uniform_numbers(seed + 1, [example], 1, 4).tolist() != [alone]


def test_different_seeds_differ_and_equal_seeds_do_not() -> None:
    model = UniformGenerator(30)
    outcomes = [tuple(one.tokens for one in sample(model, n_best=5, seed=seed)) for seed in (1, 1, 2, -1)]
    assert outcomes[0] == outcomes[1]
    assert len(set(outcomes)) == 3


def test_the_example_decides_and_not_its_place_in_the_batch() -> None:
    model = UniformGenerator(30)
    source = Padded.of([[4, END], [4, END]])
    how = Decoding(method="sample")
    first, second = decode(model, source, how, examples=[7, 8])
    again, other = decode(model, source, how, examples=[8, 9])
    assert second == again
    assert first != second != other


def test_samples_are_sorted_by_score() -> None:
    scores = [hypothesis.score for hypothesis in sample(TableGenerator(random_table(4, 9)), n_best=30)]
    assert len(scores) == 30
    assert scores == sorted(scores, reverse=True)
