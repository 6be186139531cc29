"""Intervals by the bootstrap over groups."""

import numpy as np
import pytest

from regard.metrics.resampling import interval_of_mean


def test_it_is_as_wide_as_theory_says() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)
    low, high = interval_of_mean(values, np.ones(400))
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_groups_stay_together() -> None:
    # Groups of ten equal numbers are no more than one observation each.
    values = np.random.default_rng(1).normal(size=50)
    alone, together = interval_of_mean(values, np.ones(50)), interval_of_mean(10 * values, np.full(50, 10))
    assert together == pytest.approx(alone)
    apart = interval_of_mean(np.repeat(values, 10), np.ones(500))
    assert apart[1] - apart[0] < 0.5 * (together[1] - together[0])


def test_what_never_differs_has_no_width_and_the_seed_decides() -> None:
    assert interval_of_mean(np.array([2.0, 6.0]), np.array([1, 3])) == (2.0, 2.0)
    values = np.arange(9.0)
    assert interval_of_mean(values, np.ones(9), seed=1) == interval_of_mean(values, np.ones(9), seed=1)
    assert interval_of_mean(values, np.ones(9), seed=1) != interval_of_mean(values, np.ones(9), seed=2)
    assert interval_of_mean(values, np.zeros(9), resamples=10)[1] > 0, "groups may be empty"
