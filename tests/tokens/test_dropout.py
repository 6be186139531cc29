"""BPE dropout: the distribution of the paper, seeded, and never another text."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.tokens import UNKNOWN, Tokenizer, train_tokenizer
from regard.tokens.bpe import BPE
from regard.tokens.dropout import LETTER, Merges, joined
from regard.tokens.rows import Rows

TEXTS = ["die Banane und die Ananas", "Bananen , Ananas , Banane !", "aaaa aaab bbab abba"] * 3


def trained(share: float) -> Tokenizer:
    return train_tokenizer(recipe.TokenizerSettings(kind="bpe", size=60, dropout=share), TEXTS)


HALF = trained(0.5)
NONE = trained(0.0)
text = st.text(st.sampled_from(sorted(set("".join(TEXTS)))), max_size=60)


def seeds(*numbers: int) -> npt.NDArray[np.uint64]:
    return np.array(numbers, dtype=np.uint64)


def sampled(tokenizer: Tokenizer, texts: list[str], *numbers: int, longest: int | None = None) -> list[list[int]]:
    return tokenizer.sampled(Rows.of(tokenizer.encode_all(texts)), seeds(*numbers), longest).lists()


@given(texts=st.lists(text, max_size=4), seed=st.integers(0, 9))
def test_sampled_tokens_are_a_function_of_text_and_seed_and_decode_to_the_text(texts: list[str], seed: int) -> None:
    found = sampled(HALF, texts, *[seed] * len(texts))
    assert [HALF.decode(tokens) for tokens in found] == texts
    assert [sampled(HALF, [one], seed)[0] for one in texts] == found


@given(text=text, seed=st.integers(0, 9))
def test_hardly_any_dropout_is_none_and_nearly_all_leaves_characters(text: str, seed: int) -> None:
    rare, often = (again(dropout=share) for share in (1e-12, 1 - 1e-12))
    assert sampled(rare, [text], seed) == [NONE.encode(text)]
    assert sampled(often, [text], seed) == [NONE.vocabulary.find_all(" " + text if text else "")]


def again(**settings: float) -> Tokenizer:
    return type(HALF).from_state(recipe.TokenizerSettings(kind="bpe", size=60, **settings), HALF.state())


def test_without_dropout_seeds_change_nothing() -> None:
    assert sampled(NONE, ["Banane"] * 2, 1, 2) == [NONE.encode("Banane")] * 2


@given(texts=st.lists(text, max_size=4), longest=st.integers(0, 20), seed=st.integers(0, 9))
def test_a_text_that_would_be_too_long_stays_as_it_is(texts: list[str], longest: int, seed: int) -> None:
    free, bound = (sampled(HALF, texts, *[seed] * len(texts), longest=most) for most in (None, longest))
    plain = HALF.encode_all(texts)
    assert bound == [row if len(row) <= longest else other for row, other in zip(free, plain, strict=True)]


@given(text=text, seed=st.integers(0, 9))
def test_tags_and_unknown_characters_stay_where_they_are(text: str, seed: int) -> None:
    tagged = HALF.with_tags(["fr", "de"])
    tag = tagged.vocabulary.tag("de")
    plain = [tag, *tagged.encode(text), UNKNOWN, tag, *tagged.encode(text)]
    (found,) = tagged.sampled(Rows.of([plain]), seeds(seed)).lists()
    assert [token for token in found if token in (tag, UNKNOWN)] == [tag, UNKNOWN, tag]
    assert found[0] == tag
    assert tagged.decode(found) == tagged.decode(plain)


@given(st.text(st.sampled_from("aé\u0301ß中 \t\n\u00a0\u200979٣½!.☃…-"), max_size=12))
def test_words_are_the_units_of_the_tokenizer(text: str) -> None:
    """Where units end is told from two neighbors alone, as the library that is asked tells it."""
    assert isinstance(NONE, BPE)
    kinds = [NONE._kind(character) for character in text]
    ends = [place + 1 for place, two in enumerate(pairwise(kinds)) if not joined(*two)]
    units = [text[start:end] for start, end in pairwise([0, *ends, len(text)])] if text else []
    assert units == [unit for unit, _ in NONE._library.pre_tokenizer.pre_tokenize_str(text)]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_distribution_is_that_of_the_paper(share: float) -> None:
    table = {(0, 0): (0, 2), (1, 0): (1, 3), (2, 0): (2, 4), (2, 3): (3, 5), (0, 3): (4, 6)}
    word = (0, 0, 1, 0, 0)
    pieces = [[0], [1], [0, 0], [1, 0], [0, 0, 0], [0, 0, 1, 0], [0, 1, 0]]
    merges = Merges(table, pieces, [(LETTER, LETTER)] * len(pieces), share)
    draws = 20_000
    (plain,) = (split for split, probability in outcomes(word, table, 0.0) if probability)
    seen = Counter(map(tuple, merges.sample(Rows.of([plain] * draws), np.arange(draws, dtype=np.uint64)).lists()))
    expected = Counter[tuple[int, ...]]()
    for split, probability in outcomes(word, table, share):
        expected[split] += probability
    assert sum(expected.values()) == pytest.approx(1.0)
    for split in expected.keys() | seen.keys():
        spread = (expected[split] * (1 - expected[split]) / draws) ** 0.5
        assert abs(seen[split] / draws - expected[split]) <= 5 * spread + 1e-9


def outcomes(
    word: tuple[int, ...], table: dict[tuple[int, int], tuple[int, int]], share: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Algorithm 1 of Provilkov et al. (2020), with every subset of skipped merges written out."""
    possible = [(table[pair][0], place) for place, pair in enumerate(pairwise(word)) if pair in table]
    for subset in range(2 ** len(possible)):
        left = [merge for bit, merge in enumerate(possible) if subset >> bit & 1]
        probability = (1 - share) ** len(left) * share ** (len(possible) - len(left))
        if not left:
            yield word, probability
            continue
        _, place = min(left)
        merged = (*word[:place], table[word[place], word[place + 1]][1], *word[place + 2 :])
        for split, further in outcomes(merged, table, share):
            yield split, probability * further
