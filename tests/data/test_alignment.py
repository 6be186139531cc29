"""The place where two files stop being parallel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.alignment import length_break


def ratios(lines: int, missing: int | None, seed: int) -> np.ndarray:
    """Logarithms of length ratios of a text and its translation, from which one line is missing."""
    rng = np.random.default_rng(seed)
    ours = rng.lognormal(4, 0.5, lines)
    theirs = ours * rng.lognormal(0.1, 0.12, lines)
    if missing is not None:
        theirs = np.delete(theirs, missing)
    shared = min(len(ours), len(theirs))
    return np.log(ours[:shared] / theirs[:shared])


@pytest.mark.parametrize(("lines", "missing"), [(100, 50), (2000, 100), (2000, 1000), (2000, 1900)])
@given(seed=st.integers(0, 1000))
def test_a_missing_line_is_found_within_a_few(lines: int, missing: int, seed: int) -> None:
    found = length_break(ratios(lines, missing, seed))
    assert found is not None
    assert abs(found - missing) <= 12


@given(seed=st.integers(0, 1000))
def test_parallel_text_has_no_break(seed: int) -> None:
    assert length_break(ratios(500, None, seed)) is None


def test_among_few_lines_one_odd_pair_is_a_break() -> None:
    assert length_break(np.array([0.0, 0.1, 0.0, 3.0, 0.1])) == 3
    assert length_break(np.array([0.0, 0.1])) is None
    assert length_break(np.array([])) is None


def test_among_many_lines_one_odd_pair_is_none() -> None:
    many = ratios(500, None, 3)
    many[250] = 3.0
    assert length_break(many) is None
