"""Text that is shown token by token is the text that all tokens together stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.tokens import BEGIN, END, TOKENIZERS, UNKNOWN, Tokenizer, train_tokenizer
from regard.tokens.streaming import TextStream

LINES = ["die Katze sieht Häuser", "ein roter Hund", "日本語 и русский 🙂"]


def tokenizer(kind: str) -> Tokenizer:
    return train_tokenizer(recipe.TokenizerSettings(kind=kind, size=300), LINES * 4)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(data=st.data())
def test_pieces_are_the_text_of_all_tokens(kind: str, data: st.DataObject) -> None:
    one = tokenizer(kind)
    lines = data.draw(st.lists(st.lists(st.sampled_from([UNKNOWN, *range(4, one.size)]), max_size=12), max_size=4))
    stream, shown = TextStream(one), ""
    for line in lines:
        shown += "".join(map(stream.add, [*line, END]))
    assert shown + stream.rest() == "".join(one.decode(line) + "\n" for line in lines)


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", LINES)
def test_what_follows_a_prompt_goes_on_from_it(kind: str, text: str) -> None:
    one = tokenizer(kind)
    tokens = one.encode(text)
    for cut in range(1, len(tokens)):
        if kind == "bytes" and "\ufffd" in one.decode(tokens[:cut]):
            continue
        stream = TextStream(one, tokens[:cut])
        assert one.decode(tokens[:cut]) + "".join(map(stream.add, tokens[cut:])) + stream.rest() == one.decode(tokens)


def test_a_character_is_shown_when_it_is_whole() -> None:
    one = tokenizer("bytes")
    stream = TextStream(one)
    assert [stream.add(token) for token in one.encode("é🙂")] == ["", "é", "", "", "", "🙂"]
    assert stream.add(one.encode("🙂")[0]) == ""
    assert stream.rest() == "\ufffd"


def test_after_the_end_of_a_line_a_new_one_begins() -> None:
    one = tokenizer("words")
    first, second = one.encode("die Katze")
    assert TextStream(one, [first]).add(second) == " Katze"
    assert TextStream(one, [first, END]).add(second) == "Katze"
    assert TextStream(one, [BEGIN]).add(second) == "Katze"


def test_words_beyond_the_vocabulary() -> None:
    one = tokenizer("words")
    assert TextStream(one, [4], ["Zug"]).add(one.size) == " Zug"


def test_what_stands_for_unknown_words_is_no_word() -> None:
    settings = recipe.TokenizerSettings(kind="words", unknown="<unk>")
    one = train_tokenizer(settings, ["a <unk> b"])
    assert one.encode("a <unk> c") == [one.encode("a")[0], UNKNOWN, UNKNOWN]
    assert one.decode(one.encode("a c")) == "a <unk>"
    plain = train_tokenizer(recipe.TokenizerSettings(kind="words"), ["a <unk> b"])
    assert plain.encode("<unk>") != [UNKNOWN]
