"""Scores, the bound that ends a search, and the list of finished hypotheses."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode.ranking import LEAST_COVERAGE, Finished, Hypothesis, Ranking

log_probs = st.floats(-50, 0, width=32)


@given(log_probs, st.lists(log_probs, max_size=6), st.integers(0, 5), st.integers(0, 9), st.floats(0, 3))
def test_nothing_that_grows_exceeds_the_bound(
    total: float, further: list[float], length: int, spare: int, penalty: float
) -> None:
    """A live hypothesis of `length` tokens gets `further` ones, the last of them END, within the limit."""
    ranking = Ranking(penalty, 0.3)
    longest = length + len(further) + spare
    grown = torch.tensor([[total + sum(further)]])
    attention = torch.rand(1, 1, 4) * 2
    score = ranking.score(grown, length + len(further) + 1, attention, torch.ones(1, 4, dtype=torch.bool))
    bound = ranking.bound(torch.tensor([total]), torch.tensor([longest]))
    assert float(score) <= float(bound) + 1e-4


def test_the_score_is_that_of_the_paper() -> None:
    coverage = torch.tensor([[[0.5, 2.0, 0.0, 7.0], [1.0, 0.25, 1.0, 0.0]]])
    keep = torch.tensor([[True, True, True, False]])
    scores = Ranking(0.5, 0.2).score(torch.tensor([[-4.0, -2.0]]), 4, coverage, keep)
    first = -4 / 2 + 0.2 * (math.log(0.5) + math.log(LEAST_COVERAGE))
    assert scores.tolist() == [pytest.approx([first, -2 / 2 + 0.2 * math.log(0.25)])]


two_scores = st.lists(st.sampled_from([-1.0, -2.0, -3.0, -math.inf]), min_size=2, max_size=2)


@given(st.lists(two_scores, min_size=1, max_size=5))
def test_merging_keeps_the_best_and_those_that_came_first(steps: list[list[float]]) -> None:
    finished = Finished.none(1, 2, 3, torch.device("cpu"))
    arrived: list[tuple[float, int]] = []
    for step, scores in enumerate(steps):
        values = torch.tensor([scores])
        names = torch.tensor([[[10 * step, 0, 0], [10 * step + 1, 0, 0]]])
        finished = finished.merge(Finished.of(values, values, names, 1, ended=True))
        arrived += [(score, 10 * step + place) for place, score in enumerate(scores) if score > -math.inf]
    expected = sorted(arrived, key=lambda pair: (-pair[0], pair[1]))[:2]
    assert finished.lists(2) == [[Hypothesis((name,), score, score, True) for score, name in expected]]


def test_unfinished_hypotheses_stand_in_where_none_finished() -> None:
    nothing = Finished.none(2, 2, 1, torch.device("cpu"))
    names = torch.tensor([[[4], [5]], [[6], [7]]])
    one = torch.tensor([[-math.inf, -3.0], [-math.inf, -math.inf]])
    live = torch.tensor([[-1.0, -2.0], [-2.0, -1.0]])
    finished = nothing.merge(Finished.of(one, one, names, 1, ended=True))
    lists = finished.or_else(Finished.of(live, live, names, 1, ended=False)).lists(2)
    assert lists == [
        [Hypothesis((5,), -3.0, -3.0, True)],
        [Hypothesis((7,), -1.0, -1.0, False), Hypothesis((6,), -2.0, -2.0, False)],
    ]
