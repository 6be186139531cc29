"""Looks refuse what does not fit, and choose one matrix out of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from look_strategies import labels, some_looks

from regard.errors import UsageError
from regard.inspect import Look, choose
from regard.inspect.look import readable, runs_right_to_left

ONE = np.full((1, 1, 2), 0.5)


@given(some_looks())
def test_a_mean_of_rows_that_sum_to_one_sums_to_one(look: Look) -> None:
    np.testing.assert_allclose(look.matrix().sum(axis=1), 1.0)


@given(some_looks(), st.data())
def test_a_chosen_head_is_that_head(look: Look, data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(sorted(look.weights)))
    head = data.draw(st.integers(0, len(look.weights[layer]) - 1))
    np.testing.assert_array_equal(look.matrix(layer, head), look.weights[layer][head])
    np.testing.assert_allclose(look.matrix(layer), look.weights[layer].mean(axis=0))


def test_every_layer_counts_the_same_however_many_heads_it_has() -> None:
    weights = {"low": np.zeros((3, 1, 1)), "high": np.ones((1, 1, 1))}
    np.testing.assert_array_equal(choose(weights), [[0.5]])
    np.testing.assert_array_equal(choose(weights, head=0), [[0.5]])


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        ("hihg", None, "there are no weights of a layer 'hihg'; there are 'high' or 'low'"),
        (None, 1, "there is no head 1; heads are counted from 0 to 0"),
        ("low", -1, "there is no head -1; heads are counted from 0 to 2"),
    ],
)
def test_what_there_is_not_cannot_be_chosen(layer: str | None, head: int | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose({"low": np.zeros((3, 1, 1)), "high": np.ones((1, 1, 1))}, layer, head)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weights", "gold", "message"),
    [
        ({}, None, "a look needs the weights of at least one tap"),
        (
            {"tap": ONE[0]},
            None,
            "weights of 'tap' have shape (1, 2), but 1 target and 2 source labels need (heads, 1, 2)",
        ),
        (
            {"tap": ONE.swapaxes(1, 2)},
            None,
            "weights of 'tap' have shape (1, 2, 1), but 1 target and 2 source labels need (heads, 1, 2)",
        ),
        (
            {"tap": ONE - 1},
            None,
            "weights of 'tap' hold -0.5, but weights are finite and not negative; "
            "show what a normalizer gives, not its scores",
        ),
        (
            {"tap": ONE * np.nan},
            None,
            "weights of 'tap' hold nan, but weights are finite and not negative; "
            "show what a normalizer gives, not its scores",
        ),
        ({"tap": ONE}, frozenset({(2, 0)}), "gold link 2-0 is outside of 2 source and 1 target labels"),
    ],
)
def test_what_does_not_fit_is_refused(
    weights: dict[str, np.ndarray], gold: frozenset[tuple[int, int]] | None, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Look(("a", "b"), ("x",), weights, gold)
    assert str(caught.value) == message


@given(labels)
def test_nothing_in_a_readable_label_is_invisible(label: str) -> None:
    shown = readable(label)
    assert shown
    assert not any(character.isspace() or ord(character) < 32 for character in shown)
    assert len(shown) == max(len(label), 1)


def test_readable_labels() -> None:
    assert [readable(label) for label in ("Haus", "", " März", "a\tb", "\x00")] == ["Haus", "∅", "␣März", "a␣b", "�"]


def test_a_heading_is_one_line() -> None:
    assert Look(("a", "b"), ("x",), {"tap": ONE}, title=" 5 März\n→\x1f2021\x00").heading == "5 März → 2021�"


def test_direction_is_that_of_most_letters() -> None:
    assert runs_right_to_left(["هذا", "بيت", "END"])
    assert runs_right_to_left(["שלום"])
    assert not runs_right_to_left(["house", "بيت"])
    assert not runs_right_to_left(["2021", "-"])
    assert not runs_right_to_left([])
