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
    bound = total / float(ranking.bound(torch.tensor([longest])))
    assert float(score) <= bound + 1e-4


def test_the_score_is_that_of_the_paper() -> None:
    coverage = torch.tensor([[[0.5, 2.0, 0.0, 7.0], [1.0, 0.25, 1.0, 0.0]]])
    keep = torch.tensor([[True, True, True, False]])
    scores = Ranking(0.5, 0.2).score(torch.tensor([[-4.0, -2.0]]), 4, coverage, keep)
    first = -4 / 2 + 0.2 * (math.log(0.5) + math.log(LEAST_COVERAGE))
    assert scores.tolist() == [pytest.approx([first, -2 / 2 + 0.2 * math.log(0.25)])]


@given(st.lists(st.sampled_from([-1.0, -2.0, -3.0, -math.inf]), max_size=8), st.integers(1, 4))
def test_the_best_come_first_and_at_equal_scores_those_that_were_there_first(scores: list[float], n_best: int) -> None:
    """Two hypotheses at a time come, of which some are none."""
    finished = Finished.none(1, 8, 1, torch.device("cpu"))
    arrived = [(score, 10 + name) for name, score in enumerate(scores) if score > -math.inf]
    for start in range(0, len(scores), 2):
        row = torch.full((1, 8), -math.inf)
        row[0, [1, 4]] = torch.tensor([*scores[start : start + 2], -math.inf])[:2]
        names = torch.full((1, 8, 1), 99)
        names[0, [1, 4], 0] = torch.tensor([10 + start, 11 + start])
        finished.add(row, row, 1, names)
        there = [pair for pair in arrived if pair[1] < 12 + start]
        assert finished.count.tolist() == [len(there)]
        ordered = sorted((score for score, _ in there), reverse=True) + [-math.inf] * 8
        assert float(finished.best(n_best)) == ordered[n_best - 1]
    expected = sorted(arrived, key=lambda pair: (-pair[0], pair[1]))[:n_best]
    wanted = [[Hypothesis((name,), score, score, True) for score, name in expected]]
    assert finished.lists(n_best, finished=True) == wanted
