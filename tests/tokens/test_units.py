"""Counting units word by word gives what splitting every text does; and so does finding their tokens."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.tokens import train_tokenizer
from regard.tokens.subwords import Subwords
from regard.tokens.units import count_characters, count_units, split, without

texts_of = st.lists(
    st.one_of(st.text(st.sampled_from("  aäB1,.…\t\n\u00a0\u2028\u0301漢"), max_size=20), st.text(max_size=10))
)


def one_by_one(texts: list[str]) -> Counter[str]:
    return Counter(unit for text in texts for unit in split(" " + text))


@given(texts_of)
def test_units_are_counted_as_if_one_by_one(texts: list[str]) -> None:
    assert count_units(texts) == one_by_one(texts)


@given(texts_of)
def test_text_of_many_different_words_is_counted_bit_by_bit(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.tokens.units._MOST", 2)
        patch.setattr("regard.tokens.units._AT_ONCE", 2)
        assert count_units(texts) == one_by_one(texts)


@given(texts_of)
def test_characters_are_counted_as_if_one_by_one(texts: list[str]) -> None:
    assert count_characters(count_units(texts)) == Counter("".join(" " + text for text in texts))


@given(texts_of, st.sets(st.sampled_from("aB1,…\u0301漢")))
def test_taking_characters_out_of_units_is_taking_them_out_of_texts(texts: list[str], rare: set[str]) -> None:
    broken = [text.translate({ord(character): "\n" for character in rare}) for text in texts]
    assert without(count_units(texts), rare) == one_by_one(broken)


TEXTS = ["das Haus , das  Haus!", "ein Häuschen... (1999)", "ein\tHaus\u00a0漢字 e\u0301"]
TRAINED = [train_tokenizer(recipe.TokenizerSettings(kind=kind, size=60), TEXTS) for kind in ("bpe", "unigram")]


@pytest.mark.parametrize("tokenizer", TRAINED, ids=lambda one: one.kind)
@given(texts=texts_of)
def test_tokens_of_a_text_are_those_of_its_words(tokenizer: Subwords, texts: list[str]) -> None:
    whole = [tokenizer._library.encode(" " + text if text else "").ids for text in texts]
    assert tokenizer.encode_all(texts) == tokenizer.encode_rows(texts).lists() == whole


@pytest.mark.parametrize("tokenizer", TRAINED, ids=lambda one: one.kind)
def test_words_are_not_kept_in_mind_without_end(tokenizer: Subwords, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Haus {number} {number * 'x'}" for number in range(40)]
    expected = tokenizer.encode_all(texts)
    monkeypatch.setattr("regard.tokens.subwords._MOST_CACHED", 30)
    assert [tokenizer.encode(text) for text in texts] == expected
    assert sum(map(len, tokenizer._cache)) <= 30 + max(map(len, texts))
