"""Copying and reversing: known answers, known links, disjoint splits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.sequences import LONGEST, SequenceExamples, copy_corpus, reverse_corpus
from regard.recipe import Data


@given(st.integers(0, 2**40), st.sampled_from(["train", "dev", "test"]), st.integers(0, 10**9), st.booleans())
def test_targets_and_links(seed, split, index, reverse):
    pair = SequenceExamples(seed, split, 1, reverse=reverse).example(index)
    assert pair.source.isalpha()
    assert 1 <= len(pair.source) <= LONGEST
    assert pair.target == ("".join(reversed(pair.source)) if reverse else pair.source)
    assert [source for (source, _), _ in pair.links] == list(range(len(pair.source)))
    assert sorted(target for _, (target, _) in pair.links) == list(range(len(pair.source)))
    for (source, source_end), (target, target_end) in pair.links:
        assert (source_end, target_end) == (source + 1, target + 1)
        assert pair.source[source] == pair.target[target]
        assert target == (len(pair.source) - 1 - source if reverse else source)


def test_every_length_occurs_and_splits_are_disjoint():
    sources = {
        split: {pair.source for pair in SequenceExamples(1, split, 1500, reverse=True)}
        for split in ("train", "dev", "test")
    }
    assert {len(source) for source in sources["train"]} == set(range(1, LONGEST + 1))
    assert not sources["train"] & sources["dev"]
    assert not sources["train"] & sources["test"]
    assert not sources["dev"] & sources["test"]


@pytest.mark.parametrize("corpus", [copy_corpus, reverse_corpus])
def test_a_recipe_gives_three_splits(corpus):
    corpora = corpus(Data(corpus="copy", examples=40), seed=5)
    assert (len(corpora.train), len(corpora.dev), len(corpora.test)) == (40, 4, 4)
    assert list(corpora.train) == corpus(Data(corpus="copy", examples=4000), seed=5).train[:40]
    assert list(corpora.train) != list(corpus(Data(corpus="copy", examples=40), seed=6).train)


def test_copy_and_reverse_differ_in_the_target_alone():
    data = Data(corpus="copy", examples=40)
    copied, reversed_ = list(copy_corpus(data, 1).train), list(reverse_corpus(data, 1).train)
    assert [pair.source for pair in copied] == [pair.source for pair in reversed_]
    assert [pair.target for pair in copied] == [pair.target[::-1] for pair in reversed_]
