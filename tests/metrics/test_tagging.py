"""Scores of tags against the rules of conlleval, transcribed from the script, and against seqeval where it is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics.tagging import count_tags
from regard.tokens.tag_schemes import converted

IOB = ["O", "B-X", "I-X", "B-Y", "I-Y"]
pairs = st.lists(st.lists(st.tuples(st.sampled_from(IOB), st.sampled_from(IOB)), min_size=1, max_size=8), min_size=1)
Sentences = list[list[tuple[str, str]]]


def ends(before: str, now: str, type_before: str, type_now: str) -> bool:
    """endOfChunk of conlleval.pl."""
    return (
        (before, now) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O"), ("E", "E"), ("E", "I"), ("E", "O")}
        or (before not in ("O", ".") and type_before != type_now)
        or before in ("]", "[")
    )


def starts(before: str, now: str, type_before: str, type_now: str) -> bool:
    """startOfChunk of conlleval.pl."""
    return (
        (before, now) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"), ("E", "E"), ("E", "I"), ("O", "E")}
        or (now not in ("O", ".") and type_before != type_now)
        or now in ("[", "]")
    )


def conlleval(sentences: Sentences) -> tuple[float, float, float, float]:
    """The main loop of conlleval.pl: accuracy, precision, recall and F1, in percent."""
    correct_chunk = found_guessed = found_correct = correct_tags = tokens = 0
    in_correct = False
    last_correct = last_guessed = "O"
    last_correct_type = last_guessed_type = ""
    for sentence in [*sentences]:
        # The script reads the blank line between sentences as a word with the tag O, and does not count it.
        for is_word, (guess, right) in [*((True, pair) for pair in sentence), (False, ("O", "O"))]:
            correct, _, correct_type = right.partition("-")
            guessed, _, guessed_type = guess.partition("-")
            end_correct = ends(last_correct, correct, last_correct_type, correct_type)
            end_guessed = ends(last_guessed, guessed, last_guessed_type, guessed_type)
            start_correct = starts(last_correct, correct, last_correct_type, correct_type)
            start_guessed = starts(last_guessed, guessed, last_guessed_type, guessed_type)
            if in_correct:
                if end_correct and end_guessed and last_guessed_type == last_correct_type:
                    in_correct = False
                    correct_chunk += 1
                elif end_correct != end_guessed or guessed_type != correct_type:
                    in_correct = False
            if start_correct and start_guessed and guessed_type == correct_type:
                in_correct = True
            found_correct += start_correct
            found_guessed += start_guessed
            if is_word:
                correct_tags += correct == guessed and guessed_type == correct_type
                tokens += 1
            last_guessed, last_correct = guessed, correct
            last_guessed_type, last_correct_type = guessed_type, correct_type
    precision = 100 * correct_chunk / found_guessed if found_guessed else 0.0
    recall = 100 * correct_chunk / found_correct if found_correct else 0.0
    both = precision + recall
    return 100 * correct_tags / tokens, precision, recall, 2 * precision * recall / both if both else 0.0


def sides(sentences: Sentences) -> tuple[list[list[str]], list[list[str]]]:
    return [[one for one, _ in row] for row in sentences], [[other for _, other in row] for row in sentences]


@given(pairs)
def test_scores_are_those_of_conlleval(sentences: Sentences) -> None:
    counts = count_tags(*sides(sentences))
    found = counts.accuracy(), counts.precision(), counts.recall(), counts.f1()
    assert [score.value for score in found] == pytest.approx(conlleval(sentences))


@given(pairs)
def test_spans_count_the_same_in_every_scheme(sentences: Sentences) -> None:
    outputs, references = sides(sentences)
    expected = count_tags(outputs, references).f1()
    for scheme in ("iob1", "iob2", "iobes"):
        rows = [[converted(row, scheme) for row in side] for side in (outputs, references)]  # type: ignore[arg-type]
        assert count_tags(*rows).f1() == expected


@given(pairs)
def test_scores_are_those_of_seqeval(sentences: Sentences) -> None:
    seqeval = pytest.importorskip("seqeval.metrics")
    outputs, references = sides(sentences)
    assert count_tags(outputs, references).f1().value == pytest.approx(
        100 * seqeval.f1_score(references, outputs, zero_division=0)
    )


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
