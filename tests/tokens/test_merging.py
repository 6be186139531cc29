"""Merges learned from counts are those that the library's trainer learns from the text itself."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, trainers

from regard.tokens.merging import learn_merges


def by_library(units: Counter[str], size: int, least: int) -> list[tuple[str, str]]:
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=least, show_progress=False, special_tokens=[])
    library = Tokenizer(models.BPE())
    library.train_from_iterator(units.elements(), trainer)
    return [(left, right) for left, right in json.loads(library.to_str())["model"]["merges"]]


def units_of(letters: str, longest: int) -> st.SearchStrategy[Counter[str]]:
    return st.dictionaries(st.text(letters, min_size=1, max_size=longest), st.integers(1, 5), max_size=8).map(Counter)


@given(st.one_of(units_of("ab", 12), units_of(" äb", 8), units_of("abcde😀", 8)), st.integers(1, 30), st.integers(1, 4))
def test_the_library_learns_the_same(units: Counter[str], size: int, least: int) -> None:
    assert learn_merges(units, size, least) == by_library(units, size, least)


@pytest.mark.parametrize("units", [Counter({"abc": 3, "bcd": 2, "abcd": 4, "ab": 1}), Counter(abcabcbc=2, bcabc=3)])
def test_a_token_that_two_merges_make(units: Counter[str]) -> None:
    assert learn_merges(units, 100, 1) == by_library(units, 100, 1)


def test_the_most_frequent_pair_is_merged_first() -> None:
    assert learn_merges({" aab": 1, "aab": 2, "ab": 3, "c": 9}, 100, 2) == [("a", "b"), ("a", "ab")]
    assert learn_merges({" aab": 1, "aab": 2, "ab": 3, "c": 9}, 5, 2) == [("a", "b")]
    assert learn_merges({}, 100, 1) == learn_merges({"a": 5}, 100, 1) == []


def test_a_unit_without_end_takes_memory_for_itself_once() -> None:
    merges = learn_merges({"a" * 2**18: 1}, 100, 2)
    assert merges == [("a" * 2**power, "a" * 2**power) for power in range(17)]
