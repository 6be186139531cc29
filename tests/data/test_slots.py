"""Numbers for unknown words."""

from hypothesis import given
from hypothesis import strategies as st

from regard.data.slots import Slots
from regard.recipe import TokenizerSettings
from regard.tokens import UNKNOWN, train_tokenizer

KNOWN = train_tokenizer(TokenizerSettings(kind="words"), ["the cat sat", "the dog sat"])


@given(st.lists(st.sampled_from(["the", "cat", "Xa", "Yb", "Zc9"]), max_size=8), st.integers(1, 300))
def test_known_words_keep_their_tokens_and_unknown_ones_have_one_number_each(words: list[str], count: int) -> None:
    slots, text = Slots(KNOWN, count), " ".join(words)
    (found,) = slots.encode_all([text])
    (plain,) = KNOWN.encode_all([text])
    assert [token if token < KNOWN.size else UNKNOWN for token in found] == plain
    assert all(token < KNOWN.size + count for token in found)
    (again,) = Slots(KNOWN, count).encode_all([text])
    assert again == found
    if count == 300:
        beyond = {word: token for word, token in zip(words, found, strict=True) if token >= KNOWN.size}
        assert all(slots.beyond[token - KNOWN.size] == word for word, token in beyond.items())
        assert KNOWN.decode(found, slots.beyond) == text


def test_a_number_that_no_word_has_had_is_unknown_text() -> None:
    assert set(Slots(KNOWN, 4).beyond) == {"\N{REPLACEMENT CHARACTER}"}


def test_different_words_have_different_numbers_as_long_as_there_are_many() -> None:
    (found,) = Slots(KNOWN, 10**6).encode_all(["Xa Yb Zc9 Xa"])
    assert len(set(found)) == 3
    assert found[0] == found[3]
