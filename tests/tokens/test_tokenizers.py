"""Laws that every kind of tokenizer obeys."""

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.errors import DataError, RecipeError
from regard.tokens import (
    BEGIN,
    END,
    PAD,
    TOKENIZERS,
    UNKNOWN,
    Tokenizer,
    load_tokenizer,
    save_tokenizer,
    train_tokenizer,
)
from regard.tokens.rows import Rows

TEXTS = [
    "Das ist ein Haus , das ist  ein Haus!",
    "ein Häuschen ist kein Haus... (1999)",
    "<pad> ist ein Wort, </s> auch: <unk> <s>",
    "<pad> <pad> <unk> <unk> </s> </s> <s> <s>",
    'Sie sagte: "Das Haus!" und\tging\u00a0\u2028\u0085',
    "ΣΊΣΥΦΟΣ İstanbul 漢字 e\u0301",
]
ALPHABET = sorted(set("".join(TEXTS)))
KINDS = sorted(TOKENIZERS)
EXACT = [kind for kind in KINDS if kind != "words"]
LEARNED = [kind for kind in KINDS if kind != "bytes"]
"""Kinds whose vocabulary depends on the text."""


def trained(kind: str, texts: list[str] = TEXTS, **settings: object) -> Tokenizer:
    return train_tokenizer(recipe.TokenizerSettings.model_validate({"kind": kind, "size": 300, **settings}), texts)


TRAINED = {kind: trained(kind) for kind in KINDS}
known_text = st.text(st.sampled_from(ALPHABET), max_size=40)
any_text = st.text(max_size=40)


def test_every_tokenizer_knows_its_name() -> None:
    assert all(tokenizer.kind == name for name, tokenizer in TOKENIZERS.items())


@pytest.mark.parametrize("kind", EXACT)
@given(text=known_text)
def test_decoding_restores_text_of_known_characters(kind: str, text: str) -> None:
    assert TRAINED[kind].decode(TRAINED[kind].encode(text)) == text


@given(text=any_text)
def test_bytes_restore_any_text(text: str) -> None:
    assert TRAINED["bytes"].decode(TRAINED["bytes"].encode(text)) == text


@given(text=known_text)
def test_words_restore_text_but_for_white_space(text: str) -> None:
    tokenizer = trained("words", [*TEXTS, text])
    assert tokenizer.decode(tokenizer.encode(text)) == " ".join(text.split())


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(any_text, max_size=4))
def test_all_at_once_equals_one_by_one(kind: str, texts: list[str]) -> None:
    tokenizer = TRAINED[kind]
    assert tokenizer.encode_all(texts) == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.one_of(any_text, st.lists(st.sampled_from(["<pad>", "</s>", " ", "<s>", "<unk>"])).map("".join)))
def test_text_never_becomes_a_special_token(kind: str, text: str) -> None:
    tokens = TRAINED[kind].encode(text)
    assert not set(tokens) & {PAD, BEGIN, END}
    assert all(0 < token < TRAINED[kind].size for token in tokens)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_special_tokens_are_ordinary_text_even_in_training(kind: str) -> None:
    text = "<pad> <unk> <s> </s>"
    tokens = TRAINED[kind].encode(text)
    assert UNKNOWN not in tokens
    assert TRAINED[kind].decode([BEGIN, *tokens, END, PAD]) == text


@pytest.mark.parametrize("kind", EXACT)
@given(before=known_text, after=known_text)
def test_an_unknown_character_leaves_the_rest_alone(kind: str, before: str, after: str) -> None:
    found = TRAINED[kind].decode(TRAINED[kind].encode(before + "ж" + after))
    assert found == before + ("ж" if kind == "bytes" else "\ufffd") + after


@pytest.mark.parametrize("kind", KINDS)
@given(text=any_text)
def test_pieces_are_the_tokens_and_cover_the_text_in_order(kind: str, text: str) -> None:
    pieces = TRAINED[kind].pieces(text)
    assert [piece.token for piece in pieces] == TRAINED[kind].encode(text)
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in pieces)
    covered = {place for piece in pieces for place in range(piece.start, piece.end)}
    assert covered >= {place for place, character in enumerate(text) if not character.isspace()}
    if kind not in ("words", "bytes"):  # words leave white space out; the bytes of a character share its place
        assert all(one.end == other.start for one, other in pairwise(pieces))


@pytest.mark.parametrize("kind", KINDS)
@given(words=st.lists(st.sampled_from(["Haus", "Häuschen!", "1999", "x…y", "漢字"]), min_size=1, max_size=5))
def test_pieces_know_their_words(kind: str, words: list[str]) -> None:
    text = " " + "  ".join(words) + " "
    for piece in TRAINED[kind].pieces(text):
        inside = text[piece.start : piece.end].strip()
        assert inside in text.split()[piece.word]
        if not inside:  # white space belongs to the word after it, or else to the last
            assert piece.word == min(len(text[: piece.end].split()), len(words) - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_has_no_tokens(kind: str) -> None:
    tokenizer = TRAINED[kind]
    assert tokenizer.encode("") == tokenizer.pieces("") == []
    assert tokenizer.sampled(Rows.of([[]]), np.zeros(1, np.uint64)).lists() == [[]]
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize("kind", KINDS)
@given(text=any_text)
def test_saved_and_loaded_equals_original(kind: str, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("saved") / "tokenizer.json"
    save_tokenizer(TRAINED[kind], path)
    loaded = load_tokenizer(path)
    assert loaded.settings == TRAINED[kind].settings
    assert loaded.encode(text) == TRAINED[kind].encode(text)
    assert list(loaded.vocabulary) == list(TRAINED[kind].vocabulary)
    assert [file.name for file in path.parent.iterdir()] == ["tokenizer.json"]


@pytest.mark.long
def test_training_is_the_same_in_every_process() -> None:
    script = (
        "import json, sys; from regard import recipe; from regard.tokens import TOKENIZERS, train_tokenizer\n"
        "texts = json.loads(sys.stdin.read())\n"
        "make = lambda kind: train_tokenizer(recipe.TokenizerSettings(kind=kind, size=300), texts).state()\n"
        "print(json.dumps({kind: make(kind) for kind in TOKENIZERS}))"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(TEXTS),
            env={"PYTHONHASHSEED": seed, "TOKENIZERS_PARALLELISM": "true" if seed == "1" else "false"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout) == {kind: json.loads(json.dumps(TRAINED[kind].state())) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_lower_case_keeps_places_of_the_text_as_it_was(kind: str) -> None:
    tokenizer = trained(kind, lowercase=True)
    text = "İstanbul HAUS"  # the first letter becomes two characters
    assert tokenizer.encode(text) == tokenizer.encode(text.lower())
    assert tokenizer.decode(tokenizer.encode("DAS HAUS")) == "das haus"
    last = tokenizer.pieces(text)[-1]
    assert last.end == len(text)
    assert last.word == 1


@pytest.mark.parametrize("kind", KINDS)
def test_lone_surrogates_are_replaced(kind: str) -> None:
    tokenizer = trained(kind, [*TEXTS, "a \ufffd"])
    assert tokenizer.decode(tokenizer.encode("ein \ud800 Haus")) == "ein \ufffd Haus"


@pytest.mark.parametrize("kind", LEARNED)
def test_vocabularies_keep_to_their_size(kind: str) -> None:
    small = trained(kind, size=30)
    assert small.size <= 30
    assert small.decode(small.encode("ist")) in ("ist", "\ufffd" * 3, "\ufffd")


@pytest.mark.parametrize("kind", [kind for kind in LEARNED if kind != "words"])
def test_the_most_frequent_characters_are_kept(kind: str) -> None:
    tokenizer = trained(kind, ["aaab bbcc d" * 5], size=8)
    assert tokenizer.decode(tokenizer.encode("abd")) == "ab\ufffd"


@pytest.mark.parametrize("kind", LEARNED)
def test_rare_words_and_characters_stay_out(kind: str) -> None:
    tokenizer = trained(kind, ["aa aa bb aa bb x", "aa bb"], least=2)
    assert tokenizer.decode(tokenizer.encode("aa x bb")) == "aa \ufffd bb"


def test_subwords_split_punctuation_from_words_and_share_word_forms() -> None:
    tokenizer = trained("bpe", ["das Haus, das Haus. Haus! (Haus) das Haus-Haus"] * 3)
    names = [tokenizer.vocabulary[token] for token in tokenizer.encode("das Haus, Haus!")]
    assert names == [" das", " Haus", ",", " Haus", "!"]


def test_a_word_vocabulary_is_sorted_by_frequency() -> None:
    assert trained("words", ["b a c b", "c b"]).vocabulary.tokens == ("b", "c", "a")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text_is_refused(kind: str, texts: list[str]) -> None:
    message = f"there is no text to learn a vocabulary of {kind} from: every line is empty"
    with pytest.raises(DataError, match=message):
        trained(kind, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_without_room_is_refused(kind: str) -> None:
    with pytest.raises(RecipeError, match="tokens: size = 4 leaves no room beside the 4 special tokens"):
        trained(kind, size=4)


def test_bytes_need_room_for_all_of_them() -> None:
    with pytest.raises(RecipeError, match="= 259 is too small for kind = 'bytes', which needs 260; set size to 260"):
        trained("bytes", size=259)


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_of_texts_does_as_well(kind: str) -> None:
    settings = recipe.TokenizerSettings.model_validate({"kind": kind, "size": 300})
    assert train_tokenizer(settings, iter(TEXTS)).state() == TRAINED[kind].state()


def test_progress_is_told() -> None:
    told: list[int] = []
    train_tokenizer(recipe.TokenizerSettings(kind="words"), ["a"] * 20_001, told.append)
    assert told == [10_000, 20_000]
