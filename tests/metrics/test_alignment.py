"""Alignment scores: hand-computed values, brute force over all pairs, and the empty cases."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics import agreement, alignment_error_rate, alignment_scores, compare_alignments, count_links

LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)
SENTENCES = st.lists(st.tuples(LINKS, LINKS, LINKS), max_size=4)


def test_by_hand():
    found = [{(0, 0), (1, 1), (2, 1)}, {(0, 1)}]
    sure = [{(0, 0), (1, 2)}, {(0, 1)}]
    possible = [{(1, 1)}, set()]
    counts = count_links(found, sure, possible)
    assert counts.precision.value == pytest.approx(3 / 4)  # (2, 1) is wrong
    assert counts.recall.value == pytest.approx(2 / 3)  # (1, 2) is missing
    assert counts.error_rate.value == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert counts.error_rate.name == "alignment error rate"
    assert counts.error_rate.signature == "sentences:2|found:4|sure:3|possible:4"


@given(SENTENCES)
def test_agrees_with_counting_every_pair(sentences):
    a = s = a_and_s = a_and_p = 0
    for found, sure, possible in sentences:
        for pair in [(i, j) for i in range(4) for j in range(4)]:
            a += pair in found
            s += pair in sure
            a_and_s += pair in found and pair in sure
            a_and_p += pair in found and (pair in sure or pair in possible)
    columns = [list(column) for column in zip(*sentences, strict=True)] or [[], [], []]
    rate = alignment_error_rate(*columns)
    counts = count_links(*columns)
    assert rate == counts.error_rate
    assert 0 <= rate.value <= 1
    assert rate.value == pytest.approx(1 - (a_and_s + a_and_p) / (a + s) if a + s else 0)
    assert counts.precision.value == pytest.approx(a_and_p / a if a else 1)
    assert counts.recall.value == pytest.approx(a_and_s / s if s else 1)


@given(st.lists(LINKS, max_size=4))
def test_true_links_have_no_error_and_without_possible_ones_it_is_one_minus_f1(links):
    assert alignment_error_rate(links, links).value == 0
    some = [set(list(row)[::2]) for row in links]
    counts = count_links(some, links)
    if counts.found:
        precision, recall = counts.precision.value, counts.recall.value
        assert counts.error_rate.value == pytest.approx(1 - 2 * precision * recall / (precision + recall))


def test_no_links():
    assert alignment_error_rate([], []).value == 0
    assert alignment_error_rate([set()], [set()]).value == 0
    assert alignment_error_rate([set()], [{(0, 0)}]).value == 1
    assert alignment_error_rate([{(0, 0)}], [set()]).value == 1
    assert alignment_error_rate([{(0, 0)}], [set()], [{(0, 0)}]).value == 0


def test_sentences_must_match():
    with pytest.raises(UsageError) as error:
        alignment_error_rate([set()], [set(), set()], [set()])
    assert str(error.value) == (
        "alignments of 1 sentences cannot be compared with sure links of 2 and possible links of 1; "
        "give one set for each sentence, empty where there are none"
    )


@given(SENTENCES)
def test_f1_is_the_harmonic_mean_and_without_possible_links_the_rest_of_the_error(sentences):
    found, sure, possible = [list(column) for column in zip(*sentences, strict=True)] or [[], [], []]
    counts = count_links(found, sure, possible)
    precision, recall, f1 = counts.precision.value, counts.recall.value, counts.f1.value
    assert f1 == pytest.approx(2 / (1 / precision + 1 / recall) if precision and recall else 0)
    if counts.found + counts.sure:
        exact = count_links(found, sure)
        assert exact.f1.value == pytest.approx(1 - exact.error_rate.value) or not (exact.found and exact.sure)
    # Precision and recall change places with the systems.
    assert agreement(found, sure).value == pytest.approx(agreement(sure, found).value)


def some_sentences(count, seed):
    draw = random.Random(seed)
    sure = [{(i, i) for i in range(draw.randint(1, 9))} for _ in range(count)]
    better, worse = ([{(i, i + (draw.random() < p)) for i, _ in row} for row in sure] for p in (0.1, 0.5))
    return better, worse, sure


def test_intervals_are_those_of_a_brute_force_bootstrap_over_sentences():
    found, _, sure = some_sentences(25, 1)
    generator = np.random.default_rng(0)
    draws = [generator.integers(0, 25, 25) for _ in range(1000)]
    for score in alignment_scores(found, sure):
        values = []
        for rows in draws:
            one = count_links([found[row] for row in rows], [sure[row] for row in rows])
            values.append({s.name: s.value for s in (one.error_rate, one.precision, one.recall, one.f1)}[score.name])
        low, high = np.quantile(values, (0.025, 0.975))
        assert score.margin == pytest.approx((high - low) / 2)
        assert score.signature.endswith("|bs:1000|seed:0")


def test_two_systems_are_compared_on_the_same_sentences():
    better, worse, sure = some_sentences(40, 2)
    found = compare_alignments(better, worse, sure)
    rates = [alignment_error_rate(system, sure).value for system in (better, worse)]
    assert [found.value, found.other] == pytest.approx(rates)
    assert found.low < found.difference < found.high < 0
    assert found.verdict().startswith("better, and hardly by chance")
    assert found.numbers().startswith(
        f"alignment error rate (lower is better) {rates[0]:.4f} against {rates[1]:.4f}: -0."
    )
    assert "ar:10000" in found.signature
    assert compare_alignments(worse, worse, sure).verdict() == "no difference at all"
    with pytest.raises(UsageError, match="there is nothing to compare: the text has no sentence"):
        compare_alignments([], [], [])
