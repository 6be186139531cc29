"""Tag schemes: spans survive every scheme, and what breaks one is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tokens.tag_schemes import Marked, Scheme, breaks, converted, detect, may_follow, spans, tags_of

SCHEMES: list[Scheme] = ["iob1", "iob2", "iobes"]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)
words = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["PER", "B-1", "LOC"])), max_size=5)
any_tags = st.lists(st.sampled_from(["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "XY")]), max_size=7)


def placed(parts: list[tuple[int, int, str]]) -> tuple[list[Marked], int]:
    """Spans, each after some words without one, and how many words there are."""
    found, end = [], 0
    for gap, length, kind in parts:
        found.append((end + gap, end + gap + length, kind))
        end = found[-1][1]
    return found, end + len(parts) % 2


@every_scheme
@given(words)
def test_spans_survive_being_written_and_what_is_written_is_valid(
    scheme: Scheme, parts: list[tuple[int, int, str]]
) -> None:
    marked, length = placed(parts)
    tags = tags_of(marked, length, scheme)
    assert len(tags) == length
    assert spans(tags) == marked
    assert breaks(scheme, tags) == []
    for other in SCHEMES:
        assert converted(converted(tags, other), scheme) == tags


@every_scheme
@given(any_tags)
def test_a_sequence_is_valid_exactly_if_writing_its_spans_gives_it_again(scheme: Scheme, tags: list[str]) -> None:
    assert (breaks(scheme, tags) == []) == (converted(tags, scheme) == tags)


@given(any_tags)
def test_tags_without_a_scheme_are_left_alone(tags: list[str]) -> None:
    assert converted(tags, "none") == tags
    assert breaks("none", tags) == []
    assert all(may_follow("none", one, other) for one in tags for other in tags)


@pytest.mark.parametrize(
    ("scheme", "tags", "places"),
    [
        ("iob2", "O I-PER", [1]),
        ("iob2", "B-PER I-LOC", [1]),
        ("iob1", "O B-PER", [1]),
        ("iob1", "I-LOC B-PER", [1]),
        ("iobes", "B-PER O", [1]),
        ("iobes", "O B-PER", [1]),
        ("iobes", "S-PER E-PER", [1]),
        ("iob2", "O S-PER", [1]),
        ("iob2", "NN B-PER", [0]),
        ("iob2", "O B-", [1]),
    ],
)
def test_what_breaks_a_scheme_is_found(scheme: Scheme, tags: str, places: list[int]) -> None:
    assert breaks(scheme, tags.split()) == places


@every_scheme
def test_a_scheme_is_detected(scheme: Scheme) -> None:
    marked: list[Marked] = [(0, 1, "PER"), (1, 3, "PER"), (4, 5, "LOC")]
    assert detect([tags_of(marked, 6, scheme), ["O", "O"]]) == scheme


def test_parts_of_speech_and_texts_without_a_span_have_none() -> None:
    assert detect([["DET", "NOUN"]]) == "none"
    assert detect([["B-NP", "NOUN"]]) == "none"
    assert detect([["O", "O"]]) == "none"


def test_a_few_mistakes_do_not_hide_the_scheme() -> None:
    assert detect([["I-PER", "O"], ["I-LOC", "B-LOC"], ["I-LOC"], ["B-PER"]]) == "iob1"
    assert detect([["B-PER", "O"], ["B-LOC", "I-LOC"], ["B-LOC"], ["I-PER"]]) == "iob2"
    assert detect([["B-PER", "I-PER"]] * 99 + [["B_PER", "O"]]) == "iob2"
