"""What is drawn at random: the right odds, and the same draws for the same place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.vectors.drawing import choose, window_around
from regard.vectors.sampling import Alias, keeping, negatives, start

WEIGHTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30).map(np.array)


def shares_of(table: Alias) -> np.ndarray:
    """How probable each number is: its place keeps it, or another place leads to it."""
    kept = (table.odds.astype(np.float64) + 1) / 2**32
    shares = kept.copy()
    np.add.at(shares, table.alias, 1 - kept)
    return shares / len(kept)


@given(WEIGHTS)
def test_an_alias_table_draws_by_the_weights(weights: np.ndarray) -> None:
    np.testing.assert_allclose(shares_of(Alias.of(weights.copy())), weights / weights.sum(), atol=1e-8)


def test_negatives_go_by_the_three_quarter_power_of_counts() -> None:
    counts = np.array([10_000, 100, 1])
    np.testing.assert_allclose(shares_of(negatives(counts)), counts**0.75 / (counts**0.75).sum(), atol=1e-8)


def test_frequent_words_are_skipped_and_rare_ones_kept() -> None:
    counts = np.array([900_000, 99_990, 10])
    share = counts / counts.sum()
    expected = np.minimum(np.sqrt(1e-3 / share) + 1e-3 / share, 1)
    np.testing.assert_allclose(keeping(counts, 1e-3) / 2**32, expected, atol=1e-9)
    assert (keeping(counts, 0.0) == 2**32 - 1).all()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 100), st.integers(-1, 10**9))
def test_every_place_has_draws_of_its_own(seed: int, epoch: int, place: int) -> None:
    here = start(seed, epoch, place)
    assert here == start(seed, epoch, place)
    assert here not in (start(seed, epoch, place + 1), start(seed, epoch + 1, place), start(seed + 1, epoch, place))


def test_chosen_words_are_one_true_word_and_negatives_by_their_odds() -> None:
    table, chosen, state = negatives(np.array([8, 4, 2, 1])), np.empty(3, dtype=np.int64), start(1, 0, 0)
    drawn = np.zeros(4)
    for _ in range(5_000):
        state = np.uint64(choose(2, chosen, table.odds, table.alias, state))
        assert chosen[0] == 2
        drawn += np.bincount(chosen[1:], minlength=4)
    shares = np.array([8, 4, 0, 1]) ** 0.75
    np.testing.assert_allclose(drawn / drawn.sum(), shares / shares.sum(), atol=0.02)


@pytest.mark.parametrize("dynamic", [True, False])
def test_windows_are_of_every_width_alike_or_of_one(dynamic: bool) -> None:
    state, widths = start(1, 0, 0), np.zeros(4)
    for _ in range(3_000):
        begin, end, after = window_around(10, 20, 3, dynamic, state)
        state = np.uint64(after)
        assert 10 - begin == end - 11
        widths[10 - begin] += 1
    np.testing.assert_allclose(widths / 3_000, [0, 1 / 3, 1 / 3, 1 / 3] if dynamic else [0, 0, 0, 1], atol=0.04)
    assert window_around(0, 2, 3, False, state)[:2] == (0, 2)
