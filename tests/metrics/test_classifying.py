"""Accuracy and F1 of labels: parity with a plain computation, and with scikit-learn where it is installed."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics.classifying import count_labels

one_label = st.tuples(*[st.lists(st.sampled_from("abcd"), min_size=1, max_size=1)] * 2)
any_labels = st.tuples(*[st.lists(st.sampled_from("abcd"), max_size=3, unique=True)] * 2)
texts = st.one_of(st.lists(one_label, min_size=1, max_size=12), st.lists(any_labels, min_size=1, max_size=12))


@given(texts=texts)
def test_scores_are_those_of_a_plain_computation(texts: list[tuple[list[str], list[str]]]) -> None:
    counts = count_labels(*zip(*texts, strict=True))  # type: ignore[arg-type]
    accuracy, macro, micro = (score.value for score in counts.scores())
    assert accuracy == pytest.approx(100 * sum(set(one) == set(other) for one, other in texts) / len(texts))
    known = {label for pair in texts for side in pair for label in side}
    f1 = []
    for label in known:
        right = sum(label in one and label in other for one, other in texts)
        f1.append(2 * right / sum((label in one) + (label in other) for one, other in texts))
    assert macro == pytest.approx(100 * sum(f1) / len(known) if known else 0)
    right = sum(len(set(one) & set(other)) for one, other in texts)
    assert micro == pytest.approx(200 * right / max(sum(len(one) + len(other) for one, other in texts), 1))


@settings(max_examples=20)
@given(texts=texts)
def test_scores_are_those_of_scikit_learn(texts: list[tuple[list[str], list[str]]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, references = zip(*texts, strict=True)
    known = sorted({label for pair in texts for side in pair for label in side})
    if not known:
        return
    theirs = [[[int(label in each) for label in known] for each in side] for side in (references, outputs)]
    if all(len(side) == 1 for pair in texts for side in pair):
        theirs = [[side[0] for side in several] for several in (references, outputs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = (
            metrics.accuracy_score(*theirs),
            metrics.f1_score(*theirs, average="macro", zero_division=0),
            metrics.f1_score(*theirs, average="micro", zero_division=0),
        )
    ours = tuple(score.value / 100 for score in count_labels(outputs, references).scores())
    assert ours == pytest.approx(expected)


def test_scores_have_signatures_and_intervals() -> None:
    outputs, references = [["a"], ["b"]] * 50, [["a"], ["a"]] * 50
    accuracy, macro, micro = count_labels(outputs, references).scores(margins=True)
    assert (accuracy.name, accuracy.value, accuracy.signature) == (
        "accuracy", 50, "texts:100|labels:2|bootstrap:1000",
    )  # fmt: skip
    assert micro.value == accuracy.value
    assert micro.margin == pytest.approx(accuracy.margin)
    assert 8 < accuracy.margin < 12  # 1.96 standard errors are 9.8
    assert macro.value == pytest.approx(100 / 3)
    assert 0 < macro.margin < 10


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="labels: there is nothing to score; give at least one text"):
        count_labels([], [])
    with pytest.raises(UsageError, match="labels: 1 outputs cannot be compared with 2 references; give as many"):
        count_labels([["a"]], [["a"], ["b"]])
