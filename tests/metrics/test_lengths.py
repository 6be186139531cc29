"""Buckets of lengths cover every line once, and their scores are those of their lines."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.metrics import bleu, chrf, quality_by_length
from regard.metrics.lengths import LEAST, length_buckets

LENGTHS = st.lists(st.integers(0, 130), max_size=80)


@given(LENGTHS)
def test_every_line_is_in_one_bucket_which_says_its_length(lengths: list[int]) -> None:
    buckets = length_buckets(lengths)
    assert sorted(line for bucket in buckets for line in bucket.lines) == list(range(len(lengths)))
    for bucket in buckets:
        assert all(bucket.shortest <= lengths[line] <= bucket.longest for line in bucket.lines)
    for one, next_one in pairwise(buckets):
        assert next_one.shortest == one.longest + 1
    if lengths:
        assert (buckets[0].shortest, buckets[-1].longest) == (min(lengths), max(lengths))


@given(LENGTHS)
def test_no_bucket_is_too_small_unless_it_is_alone(lengths: list[int]) -> None:
    buckets = length_buckets(lengths)
    assert len(buckets) < 2 or all(len(bucket.lines) >= LEAST for bucket in buckets)


def test_buckets_by_hand() -> None:
    lengths = [2] * 22 + [7] * 4 + [11] * 19 + [23] * 20 + [90] * 2
    assert [(bucket.shortest, bucket.longest, len(bucket.lines)) for bucket in length_buckets(lengths)] == [
        (2, 3, 22),
        (4, 12, 23),
        (13, 90, 22),
    ]


def test_scores_are_those_of_the_lines_of_a_bucket() -> None:
    sources = ["a b", *["a b c d e f g"] * 20, *["a"] * 20]
    outputs = ["x y z u", *["a b c d e f g"] * 20, *["b c d e f"] * 20]
    references = ["x y z v", *["a b c d e f h"] * 20, *["b c d e f"] * 20]
    short, long = quality_by_length(sources, outputs, references)
    assert (short.label, short.lines, long.label, long.lines) == ("1–3", 21, "4–7", 20)
    assert short.bleu == bleu([outputs[0], *outputs[21:]], [references[0], *references[21:]])
    assert long.chrf == chrf(outputs[1:21], references[1:21])
    assert long.bleu.margin is None
    with_margins = quality_by_length(sources, outputs, references, resamples=20)
    assert with_margins[0].bleu.margin is not None
    assert with_margins[0].bleu.value == short.bleu.value


def test_one_length_is_one_number() -> None:
    (only,) = quality_by_length(["a"], ["b"], ["c"])
    assert only.label == "1"


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(UsageError) as error:
        quality_by_length(["a"], ["a", "b"], ["a", "b", "c"])
    assert str(error.value) == ("1 sources, 2 outputs and 3 references do not belong together; give as many of each")
