"""Lines that belong to others than those beside them are found, with how far away and from where on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.shifts import Outline, find_shifts


def sides(lines: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the lines of a text and of its translation."""
    rng = np.random.default_rng(seed)
    ours = rng.lognormal(4, 0.5, lines)
    return ours.astype(np.int64), (ours * rng.lognormal(0.1, 0.12, lines)).astype(np.int64)


def outline(lengths: np.ndarray) -> Outline:
    return Outline(lengths, np.zeros(len(lengths), dtype=np.uint8))


@pytest.mark.parametrize(("lines", "place"), [(200, 100), (2000, 0), (2000, 200), (2000, 1800)])
@pytest.mark.parametrize("lost", [1, -1, 4])
@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_lost_lines_are_found_within_a_few(lines: int, place: int, lost: int, seed: int) -> None:
    ours, theirs = sides(lines, seed)
    gone = np.s_[place : place + abs(lost)]
    ours, theirs = (ours, np.delete(theirs, gone)) if lost > 0 else (np.delete(ours, gone), theirs)
    shared = lines - abs(lost)
    (shift,) = find_shifts(outline(ours[:shared]), outline(theirs[:shared]))
    assert shift.distance == -lost
    assert abs(shift.stretch.start - place) <= 12 + abs(lost)
    assert shared - shift.stretch.end <= 12 + abs(lost)


@given(seed=st.integers(0, 1000))
@settings(max_examples=5)
def test_many_lost_lines_are_found_too(seed: int) -> None:
    ours, theirs = sides(2000, seed)
    (shift,) = find_shifts(outline(np.delete(ours, np.s_[1000:1300])), outline(theirs[:1700]))
    assert shift.distance == 300
    assert abs(shift.stretch.start - 1000) <= 12


@given(seed=st.integers(0, 1000), is_sorted=st.booleans())
@settings(max_examples=20)
def test_parallel_text_is_not_shifted(seed: int, is_sorted: bool) -> None:
    ours, theirs = sides(500, seed)
    order = np.argsort(ours, kind="stable") if is_sorted else np.arange(500)
    assert find_shifts(outline(ours[order]), outline(theirs[order])) == []


@given(seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_text_that_never_belonged_together_is_not_shifted(seed: int) -> None:
    ours, theirs = sides(500, seed)
    rng = np.random.default_rng(seed)
    assert find_shifts(outline(ours), outline(rng.permutation(theirs))) == []


@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_a_passage_that_resembles_a_far_one_is_no_shift(seed: int) -> None:
    """As messages that several programs have, each in its own order: the translation of one is beside another."""
    ours, theirs = sides(3000, seed)
    rng = np.random.default_rng(seed)
    ours[500:600] = ours[1700:1800]
    theirs[500:600] = rng.permutation(theirs[1700:1800])
    assert find_shifts(outline(ours), outline(theirs)) == []


def test_two_lost_lines_are_two_shifts() -> None:
    ours, theirs = sides(1500, 3)
    theirs = np.delete(theirs, [500, 1000])
    first, second = find_shifts(outline(ours[:1498]), outline(theirs))
    assert (first.distance, second.distance) == (-1, -2)
    assert abs(first.stretch.start - 500) <= 12
    assert abs(second.stretch.start - 999) <= 12


def test_marks_alone_tell_a_shift() -> None:
    rng = np.random.default_rng(0)
    marks = (1 << rng.integers(0, 8, 400)).astype(np.uint8)
    same = np.full(399, 30)
    (shift,) = find_shifts(Outline(same, marks[:-1]), Outline(same, marks[1:]))
    assert shift.distance == -1


@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_marks_that_one_language_does_without_are_no_shift(seed: int) -> None:
    """Sorted text, in which neighbors have the same marks; the target has more (as German has commas), in places."""
    rng = np.random.default_rng(seed)
    kept = np.repeat(rng.random(90) < 0.3, 50)
    more = np.repeat(rng.random(15) < 0.5, 300) & (rng.random(4500) < 0.8)
    source, target = kept.astype(np.uint8), (kept | more << 1).astype(np.uint8)
    same = np.full(4500, 30)
    assert find_shifts(Outline(same[400:], source[400:]), Outline(same[400:], target[400:])) == []
    # 400 lines more make that a distance which is tried.
    assert find_shifts(Outline(same[400:], source[:-400]), Outline(same, target)) == []


def test_few_lines_tell_nothing() -> None:
    assert find_shifts(outline(np.array([3, 90, 4])), outline(np.array([90, 4, 3]))) == []


def test_outlines_count_characters_and_marks() -> None:
    found = Outline.of(["Wie alt?", "", "3 Äpfel (rot)"])
    assert found.lengths.tolist() == [8, 0, 13]
    assert found.marks.tolist() == [2, 0, 1 + 64]
    assert len(Outline.of([])) == 0
