"""Perplexities: one sum, divided by what is usual."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics.likelihood import Likelihood


def likelihood(log_prob: float = -8.0, tokens: int = 4, ends: bool = True) -> Likelihood:
    return Likelihood(log_prob, tokens, words=2, characters=10, lines=2, unknown=1, ends=ends, conditions="x:1")


def test_each_unit_has_its_own_count() -> None:
    token, word, character = likelihood().scores()
    assert token.value == pytest.approx(math.exp(8 / 4))
    assert word.value == pytest.approx(math.exp(8 / (2 + 2)))
    assert character.value == pytest.approx(8 / math.log(2) / (10 + 2))
    assert token.signature == "tokens:4|ends of lines:2|unknown:1 as one|x:1"
    assert str(word) == "perplexity per word 7.389 (words:4|ends of lines:2|unknown:1 as one|x:1)"
    _, word, character = likelihood(ends=False).scores()
    assert word.value == pytest.approx(math.exp(8 / 2))
    assert character.signature == "characters:10|ends of lines:no|unknown:1 as one|x:1"


@given(st.floats(-1e6, 0), st.integers(1, 1000))
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(log_prob: float, tokens: int) -> None:
    token, _, _ = likelihood(log_prob, tokens).scores()
    assert token.value >= 1
    assert likelihood(-tokens * math.log(50), tokens).scores()[0].value == pytest.approx(50)


def test_what_cannot_be_is_infinite_and_nothing_has_no_score() -> None:
    assert likelihood(-math.inf).scores()[0].value == math.inf
    with pytest.raises(UsageError, match="there is nothing to score: the text has no token"):
        likelihood(tokens=0).scores()
