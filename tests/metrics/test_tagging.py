"""Scores of tags: parity with a translation of the script conlleval.pl into Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics.tagging import count_tags
from regard.tokens.tag_schemes import converted

IOB = ["O", "B-X", "I-X", "B-Y", "I-Y", "I-a-b"]
pairs = st.lists(st.lists(st.tuples(st.sampled_from(IOB), st.sampled_from(IOB)), min_size=1, max_size=8), min_size=1)
Sentences = list[list[tuple[str, str]]]


def sides(sentences: Sentences) -> tuple[list[list[str]], list[list[str]]]:
    return [[one for one, _ in row] for row in sentences], [[other for _, other in row] for row in sentences]


@given(pairs)
def test_scores_are_those_of_conlleval(sentences: Sentences) -> None:
    conlleval = pytest.importorskip("conlleval")
    counts = count_tags(*sides(sentences))
    found = counts.accuracy(), counts.precision(), counts.recall(), counts.f1()
    lines = (line for row in sentences for line in [*(f"word {right} {guess}" for guess, right in row), ""])
    expected = conlleval.evaluate(lines)["overall"]
    chunks = expected["chunks"]["evals"]
    # Where nothing is found, the script gives a precision of 0, as we do, and its translation into Python one of 1.
    precision = chunks["prec"] if expected["chunks"]["stats"]["pred"] else 0.0
    wanted = expected["tags"]["evals"]["prec"], precision, chunks["rec"], chunks["f1"]
    assert [score.value for score in found] == pytest.approx([100 * share for share in wanted])


@given(pairs)
def test_spans_count_the_same_in_every_scheme(sentences: Sentences) -> None:
    outputs, references = sides(sentences)
    expected = count_tags(outputs, references).f1()
    for scheme in ("iob1", "iob2", "iobes"):
        rows = [[converted(row, scheme) for row in side] for side in (outputs, references)]  # type: ignore[arg-type]
        assert count_tags(*rows).f1() == expected


def test_numbers_have_signatures_and_margins() -> None:
    right, wrong = ["B-X", "O"], ["O", "O"]
    counts = count_tags([right, wrong, right], [right, right, right])
    f1, precision, recall, accuracy = counts.scores(spans=True, margins=True)
    assert [round(score.value, 3) for score in (f1, precision, recall, accuracy)] == [80.0, 100.0, 66.667, 83.333]
    assert f1.signature == "conlleval|sentences:3|words:6|spans:3|bootstrap:1000"
    assert accuracy.signature == "conlleval|sentences:3|words:6|bootstrap:1000"
    assert f1.margin is not None
    assert f1.margin > 5
    assert count_tags([right] * 9, [right] * 9).precision(margins=True).margin == 0
    assert [score.name for score in counts.scores(spans=False)] == ["accuracy"]
    assert counts.f1().margin is None


def test_sentences_without_spans_score_zero_as_in_the_script() -> None:
    assert [score.value for score in count_tags([["O"]], [["O"]]).scores(spans=True)] == [0, 0, 0, 100]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="tags: there is nothing to score; give at least one sentence"):
        count_tags([], [])
    with pytest.raises(UsageError, match="tags: 1 sentences with 1 tags cannot be compared with 1 with 2; give a tag"):
        count_tags([["O"]], [["O", "O"]])
