"""The unknown sign in an output becomes a word of the source, or is never written."""

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard import recipe
from regard.inspect import Array
from regard.models import build_model
from regard.recipe import Decoding, change_section
from regard.tasks import Translator
from regard.tasks.unknown_words import Written, texts_of
from regard.tokens import UNKNOWN, train_tokenizer
from regard.tokens.tokenizer import UNKNOWN_TEXT


def untrained(kind: str, *, attention: str = "additive", copying: bool = False) -> Translator:
    """A model that writes anything, the unknown sign too."""
    words = train_tokenizer(recipe.TokenizerSettings(kind=kind, size=30), ["the red house", "a blue door"])
    score = {"score": attention} | ({"hidden": 8} if attention == "additive" else {})
    model = {"kind": "recurrent", "embedding": 8, "hidden": 8, "attention": score, "copying": copying}
    parsed = recipe.parse_recipe({"data": {"corpus": "copy"}, "model": model, "train": {"steps": 1}})
    torch.manual_seed(1)
    return Translator(parsed, build_model(parsed.model, words.size, words.size), words, words)


SAMPLED = Decoding(method="sample", n_best=20, temperature=2.0)


@pytest.mark.spread(4)
@pytest.mark.parametrize("copying", [False, True])
@pytest.mark.parametrize("kind", ["words", "bpe", "unigram", "characters"])
def test_no_unknown_sign_is_left_unless_it_is_kept(kind: str, copying: bool) -> None:
    model = untrained(kind, copying=copying)
    sources = ["the Zürich house", "Käse ☃", "a door"]

    def outputs(unknown: str) -> list[str]:
        found = model.translate(sources, decoding=change_section(SAMPLED, {"unknown": unknown}))
        return [one.text for best in found for one in (best, *best.others)]

    kept, replaced, forbidden = map(outputs, ("keep", "replace", "forbid"))
    assert any(UNKNOWN_TEXT in text for text in kept)
    assert not any(UNKNOWN_TEXT in text for text in forbidden)
    assert not any(UNKNOWN_TEXT in text for text in replaced)
    for before, after in zip(kept, replaced, strict=True):
        if UNKNOWN_TEXT not in before:
            assert after == before
        elif kind == "words":
            both = zip(before.split(), after.split(), strict=True)
            assert all(new in " ".join(sources).split() if old == UNKNOWN_TEXT else new == old for old, new in both)


@pytest.mark.parametrize("kind", ["bpe", "characters"])
def test_unknown_characters_of_the_source_come_before_what_is_known(kind: str) -> None:
    found = untrained(kind).translate(["a ☃ house"], decoding=SAMPLED)[0]
    kept = untrained(kind).translate(["a ☃ house"], decoding=change_section(SAMPLED, {"unknown": "keep"}))[0]
    signs = [one.text.count(UNKNOWN_TEXT) for one in (kept, *kept.others)]
    assert sum(signs) > 0
    assert [one.text.count("☃") for one in (found, *found.others)] == signs


@pytest.mark.spread(2)
@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
@pytest.mark.parametrize("least", [0, 3])
def test_what_is_forbidden_is_never_written(method: str, least: int) -> None:
    decoding = Decoding(method=method, unknown="forbid", least=least)  # type: ignore[arg-type]
    for terms in (None, [["house"]]) if method != "sample" else (None,):
        best = untrained("words").translate(["the Zürich house"], decoding=decoding, terms=terms)[0]
        assert UNKNOWN not in best.tokens


def test_a_forced_word_that_is_not_known_is_written_all_the_same() -> None:
    decoding = Decoding(unknown="forbid")
    best = untrained("words").translate(["the house"], decoding=decoding, terms=[["Käsekuchen"]])[0]
    assert "Käsekuchen" in best.text.split()


def test_without_attention_the_sign_stays() -> None:
    model = untrained("words", attention="none")
    found = model.translate(["the Zürich house"], decoding=SAMPLED)[0]
    assert any(UNKNOWN_TEXT in one.text for one in found.others)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_it_is_the_word_that_attention_lies_on(places: list[int]) -> None:
    """Whatever else is there: END, and a tag before the source."""
    model, text = untrained("words"), "the Zürich house"
    words = model.source_tokenizer.with_tags(["de"])
    read = [words.vocabulary.tag("de"), *words.encode(text)] if places[0] else words.encode(text)
    weights = np.zeros((1, len(places) + 1, len(read) + 1), dtype=np.float32)
    weights[..., -1] = 0.6
    for row, place in enumerate(places):
        weights[0, row, len(read) - 3 + place] = 0.4
    seen = [{"decoder.attention.weights": Array(("head", "target", "source"), weights)}]
    written = [Written(text, read, None, (UNKNOWN,) * len(places), ())]
    with mock.patch("regard.tasks.unknown_words.watch", return_value=seen):
        (found,) = texts_of(model.model, words, model.target_tokenizer, written, "replace")
    assert found.split() == [text.split()[place] for place in places]
