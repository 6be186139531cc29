"""Minimum Bayes risk, against the sum written out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.decode import Hypothesis
from regard.decode.bayes import least_risk
from regard.metrics.pairwise import UTILITIES

SINGLE = {"chrf": CHRF(), "bleu": BLEU(effective_order=True, force=True)}
utilities = st.sampled_from(sorted(UTILITIES))
texts = st.lists(st.sampled_from("abc"), max_size=6).map(" ".join)
candidates = st.lists(st.tuples(texts, st.floats(-2000, 0)), min_size=1, max_size=6)


def hypothesis(place: int, log_prob: float = -1.0) -> Hypothesis:
    return Hypothesis((place,), log_prob, log_prob, True)


@given(given=candidates, utility=utilities, drawn=st.booleans())
def test_it_is_the_highest_mean_utility(given: list[tuple[str, float]], utility: str, drawn: bool) -> None:
    list_of_texts = [text for text, _ in given]
    hypotheses = [hypothesis(place, log_prob) for place, (_, log_prob) in enumerate(given)]
    found = least_risk(hypotheses, list_of_texts, utility, drawn=drawn)
    highest = max(log_prob for _, log_prob in given)
    shares = [1.0 if drawn else math.exp(log_prob - highest) for _, log_prob in given]

    def mean(text: str) -> float:
        scores = [SINGLE[utility].sentence_score(text, [other]).score for other in list_of_texts]
        return sum(share * score for share, score in zip(shares, scores, strict=True)) / sum(shares)

    kept = [list_of_texts[one.tokens[0]] for one in found]
    assert sorted(kept) == sorted(set(list_of_texts))
    assert [one.score for one in found] == pytest.approx([mean(text) for text in kept], abs=1e-9)
    assert found[0].score == pytest.approx(max(map(mean, list_of_texts)), abs=1e-9)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@given(text=texts.filter(bool), count=st.integers(1, 5), utility=utilities, drawn=st.booleans())
def test_of_identical_candidates_the_first_is_left(text: str, count: int, utility: str, drawn: bool) -> None:
    (only,) = least_risk([hypothesis(place) for place in range(count)], [text] * count, utility, drawn=drawn)
    assert only.tokens == (0,)
    assert only.score == pytest.approx(100)


@pytest.mark.parametrize("utility", UTILITIES)
def test_a_consensus_beats_a_likelier_outlier(utility: str) -> None:
    alike = ["the house is small .", "the house is tiny .", "a house is small ."]
    log_probs = [-1.2, -1.6, -1.6, -1.6]
    hypotheses = [hypothesis(place, log_prob) for place, log_prob in enumerate(log_probs)]
    for drawn in (True, False):
        found = least_risk(hypotheses, ["no idea", *alike], utility, drawn=drawn)
        assert found[0].tokens == (1,)
    assert found[0].log_prob == -1.6


@pytest.mark.parametrize("utility", UTILITIES)
def test_what_is_drawn_more_often_counts_more(utility: str) -> None:
    drawn = ["on on no", "fire hill", "fire hill"]
    found = least_risk([hypothesis(place) for place in range(3)], drawn, utility, drawn=True)
    assert [one.tokens for one in found] == [(1,), (0,)]
    assert [one.score for one in found] == pytest.approx([200 / 3, 100 / 3])


def test_no_candidates_give_none() -> None:
    assert least_risk([], [], "chrf", drawn=True) == []
