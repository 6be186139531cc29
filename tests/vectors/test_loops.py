"""The compiled loops of skip-gram, CBOW and n-grams agree with plain ones in float64."""

import numpy as np
import pytest
import vectors_reference as reference
from hypothesis import given
from hypothesis import strategies as st

from regard.vectors.averaged import averaged
from regard.vectors.drawing import REACH, logistic, logistic_table
from regard.vectors.sampling import keeping, negatives, start
from regard.vectors.skipgram import skipgram

WIDTH, NEGATIVES = 6, 2
STREAMS = st.lists(st.integers(-1, 4), min_size=1, max_size=40).map(lambda numbers: np.array(numbers, dtype=np.int32))
COUNTS = np.array([50, 20, 10, 5, 5])
ROWS = [[0, 5], [1], [2, 6, 7], [3, 5, 7], [4]]
"""Rows that are averaged for each word."""
RAGGED = np.concatenate(ROWS).astype(np.int32), np.cumsum([0, *map(len, ROWS)])


def matrices(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.normal(size=(8, WIDTH)).astype(np.float32), draw.normal(size=(5, WIDTH)).astype(np.float32)


def compiled(how, tokens, inputs, outputs, sample, window, dynamic, rates, state):
    table = negatives(COUNTS)
    drawn = keeping(COUNTS, sample), table.odds, table.alias, logistic_table()
    if how == "skipgram":
        skipgram(WIDTH, NEGATIVES + 1)(tokens, inputs, outputs, *drawn, window, dynamic, rates, state)
    else:
        loop = averaged(WIDTH, NEGATIVES + 1, how == "cbow")
        loop(tokens, inputs, outputs, *drawn, *RAGGED, window, dynamic, rates, state)


@pytest.mark.parametrize("how", ["skipgram", "cbow", "subwords"])
@given(tokens=STREAMS, seed=st.integers(0, 2**62), window=st.integers(1, 4), dynamic=st.booleans())
def test_they_agree_with_plain_loops(how: str, tokens: np.ndarray, seed: int, window: int, dynamic: bool) -> None:
    rates, sample = (0.05, 0.01), 0.2
    inputs, outputs = matrices()
    expected_inputs, expected_outputs = inputs.astype(np.float64), outputs.astype(np.float64)
    compiled(how, tokens, inputs, outputs, sample, window, dynamic, rates, start(seed, 0, 0))
    reference.learn(
        tokens, expected_inputs, expected_outputs, keeping(COUNTS, sample), negatives(COUNTS), ROWS,
        window, dynamic, rates, start(seed, 0, 0), NEGATIVES, how,
    )  # fmt: skip
    np.testing.assert_allclose(inputs, expected_inputs, atol=2e-3)
    np.testing.assert_allclose(outputs, expected_outputs, atol=2e-3)


@pytest.mark.parametrize("how", ["skipgram", "cbow", "subwords"])
@given(tokens=STREAMS, seed=st.integers(0, 2**62))
def test_without_a_rate_nothing_changes(how: str, tokens: np.ndarray, seed: int) -> None:
    inputs, outputs = matrices()
    compiled(how, tokens, inputs, outputs, 0.0, 3, True, (0.0, 0.0), start(seed, 0, 0))
    for learned, before in zip((inputs, outputs), matrices(), strict=True):
        assert (learned == before).all()


@pytest.mark.parametrize("how", ["skipgram", "cbow", "subwords"])
def test_words_on_lines_of_their_own_have_no_company(how: str) -> None:
    inputs, outputs = matrices()
    compiled(
        how, np.array([0, -1, 1, -1, -1, 2], dtype=np.int32), inputs, outputs, 0.0, 3, True, (0.1, 0.1), start(1, 0, 0)
    )
    assert (inputs == matrices()[0]).all()
    assert (outputs == matrices()[1]).all()


@given(st.floats(-20, 20))
def test_the_logistic_function_is_near_enough(at: float) -> None:
    exact = 1 / (1 + np.exp(-np.clip(at, -REACH, REACH)))
    assert abs(logistic(np.float32(at), logistic_table()) - exact) < 8e-4


def test_what_is_predicted_becomes_likely() -> None:
    """Two kinds of lines: words 0 and 1 stand together, and so do 2 and 3."""
    tokens = np.tile(np.array([0, 1, -1, 2, 3, -1], dtype=np.int32), 400)
    inputs, outputs = matrices()
    compiled("skipgram", tokens, inputs, outputs, 0.0, 2, True, (0.1, 0.1), start(1, 0, 0))
    together = inputs[:4] @ outputs[:4].T
    assert min(together[0, 1], together[1, 0], together[2, 3], together[3, 2]) > 0
    assert max(together[0, 2], together[0, 3], together[2, 0], together[2, 1]) < 0
