"""Words with characters as input: laws of batches and vectors, for every kind of character encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_layers import randomize

from regard.data.sentences import NumberedSentences, Sentences
from regard.errors import ModelError, RecipeError, UsageError
from regard.models.characters import CHARACTER_ENCODERS
from regard.models.words import WordEmbedding, WordInput
from regard.recipe import CharacterTable, TextVectors, WordTable
from regard.tokens import UNKNOWN
from regard.tokens.word_vocabulary import WordVocabulary
from regard.vectors import Vectors

TEXT = [["EU", "rejects", "German", "call"], ["Peter", "call", "German"]]
KINDS = ["none", "cnn", "lstm"]
every_kind = pytest.mark.parametrize("kind", KINDS)
few = settings(max_examples=10)
some_sentences = st.lists(
    st.lists(st.text("EUcalGermnPt", min_size=1, max_size=7), max_size=4), min_size=1, max_size=4
).filter(any)


def table(kind: str, **changes: object) -> WordTable:
    characters = CharacterTable() if kind == "none" else CharacterTable(kind=kind, embedding=3, width=4, longest=6)
    return WordTable(**{"width": 5, "characters": characters, **changes})  # type: ignore[arg-type]


def known(words: WordTable) -> WordVocabulary:
    return WordVocabulary.learn(words, TEXT)


def built(kind: str, width: int | None = None, **changes: object) -> WordInput:
    torch.manual_seed(3)
    words = table(kind, **changes)
    model = WordInput(words, known(words), width).double().eval()
    randomize(model)
    return model


def batch(model: WordInput, sentences: list[list[str]], shape: tuple[int, int] | None = None) -> Sentences:
    rows = NumberedSentences.of(sentences, known(model.settings))
    return rows.pick(np.arange(len(sentences)), shape)


def test_every_character_encoder_is_held_to_the_laws() -> None:
    assert {*KINDS} == {"none", *CHARACTER_ENCODERS}


@every_kind
@few
@given(sentences=some_sentences)
def test_neither_padding_nor_other_sentences_change_a_word(kind: str, sentences: list[list[str]]) -> None:
    model = built(kind)
    together = model(batch(model, sentences, (len(sentences) + 1, 6)))
    assert together.shape == (len(sentences) + 1, 6, model.width)
    for row, sentence in enumerate(sentences):
        for place, word in enumerate(sentence):
            torch.testing.assert_close(together[row, place], model(batch(model, [[word]]))[0, 0])


@pytest.mark.parametrize("kind", ["cnn", "lstm"])
def test_characters_influence_their_own_word_alone_and_as_written(kind: str) -> None:
    model = built(kind, lowercase=True)
    one, other = (model(batch(model, [["Peter", word, "call"]]))[0] for word in ("german", "GERMAN"))
    torch.testing.assert_close(one[[0, 2]], other[[0, 2]])
    torch.testing.assert_close(one[1, :5], other[1, :5])
    assert not torch.allclose(one[1, 5:], other[1, 5:])


@every_kind
@pytest.mark.parametrize("width", [None, 7])
def test_gradients_reach_everything(kind: str, width: int | None) -> None:
    model = built(kind, width)
    vectors = model(batch(model, TEXT))
    assert model.width == vectors.shape[-1] == (width or table(kind).vector_width)
    gradients = torch.autograd.grad(vectors.sin().sum(), [*model.parameters()])
    assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)


def reference_cnn(model: WordInput, word: str) -> Tensor:
    """Ma and Hovy 2016, figure 1, by torch's own convolution."""
    reader: Any = model.characters
    numbers = torch.tensor(known(model.settings).characters.find_all(word))
    embedding = reader.input.embedding
    vectors = (embedding.weight[numbers] * embedding.scale).T.unsqueeze(0)
    weight = reader.filters.weight.view(4, 3, 3).transpose(1, 2)
    convolved = torch.nn.functional.conv1d(vectors, weight, reader.filters.bias, padding=2)
    largest: Tensor = convolved.tanh().amax(2)[0]
    return largest


@pytest.mark.parametrize("word", ["E", "call", "Peter"])
def test_the_cnn_is_a_convolution_with_the_largest_value(word: str) -> None:
    model = built("cnn")
    torch.testing.assert_close(model(batch(model, [[word, "German"]]))[0, 0, 5:], reference_cnn(model, word))


def test_the_lstm_ends_at_both_ends_of_a_word() -> None:
    model = built("lstm")
    reader: Any = model.characters
    numbers = torch.tensor(known(model.settings).characters.find_all("call"))
    vectors = reader.input.embedding(numbers).unsqueeze(0)
    outputs, _ = reader.stack(vectors)
    expected = torch.cat([outputs[0, -1, :2], outputs[0, 0, 2:]])
    torch.testing.assert_close(model(batch(model, [["rejects", "call"]]))[0, 1, 5:], expected)


def test_only_training_drops_words_and_their_characters_stay() -> None:
    model = built("cnn", dropout=0.5)
    sentences = batch(model, [["call"] * 40])
    assert torch.equal(model(sentences), model(sentences))
    dropped = (model.train()(sentences)[0, :, :5] == model.embedding.weight[UNKNOWN] * 5**0.5).all(1)
    assert 5 < int(dropped.sum()) < 35
    torch.testing.assert_close(model(sentences)[0, :, 5:], model.eval()(sentences)[0, :, 5:])


def test_a_word_is_found_as_written_or_else_in_lower_case() -> None:
    exact, folded = known(table("none")), known(table("none", lowercase=True))
    assert exact.find("call") == exact.find("CALL") != exact.find("German") != UNKNOWN
    assert exact.find("german") == UNKNOWN
    assert folded.find("german") == folded.find("German") != UNKNOWN
    assert "German" not in folded.vocabulary


def test_rare_words_are_unknown_unless_they_have_a_vector() -> None:
    words = WordVocabulary.learn(table("none", least=2), TEXT, ["Peter", "unseen"])
    assert words.vocabulary.tokens == ("German", "call", "Peter", "unseen")
    assert words.find("rejects") == UNKNOWN


def test_of_a_long_word_beginning_and_end_are_read() -> None:
    words = known(table("cnn"))
    assert words.spelled("Germanreject") == words.characters.find_all("Gerect")


def test_words_of_the_vector_file_keep_their_vectors(tmp_path: Path) -> None:
    vectors = Vectors(["call", "unseen"], np.array([[2, 0, 0, 0, 0], [0, 2, 0, 0, 0]], dtype=np.float32))
    vectors.save(tmp_path / "vectors")
    file = TextVectors(file=str(tmp_path / "vectors"), freeze=True)
    words = table("cnn", vectors=file)
    vocabulary = WordVocabulary.learn(words, TEXT, vectors.words)
    model = WordInput(words, vocabulary)
    (line,) = model.start(vocabulary)
    assert "2 of 6 tokens (33.3 %) start from" in line
    found = model.embedding(torch.tensor([[vocabulary.find("Unseen"), vocabulary.find("call")]]))[0]
    torch.testing.assert_close(found, torch.tensor([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0]]) * 5**0.5)
    assert not any(each.requires_grad for each in model.embedding.parameters())
    with pytest.raises(UsageError, match=r"words\.vectors\.file = .*its vectors have width 5, but .* has width 6"):
        WordInput(words.model_copy(update={"width": 6}), vocabulary).start(vocabulary)


@every_kind
def test_a_saved_vocabulary_is_the_same(kind: str, tmp_path: Path) -> None:
    words = known(table(kind))
    words.save(tmp_path / "words.json")
    again = WordVocabulary.load(words.settings, tmp_path / "words.json")
    assert (again.vocabulary.tokens, again.characters.tokens) == (words.vocabulary.tokens, words.characters.tokens)
    assert again.unseen == words.unseen


def test_words_that_only_the_vector_file_has_are_looked_up_like_others_but_never_learn() -> None:
    vectors = torch.randn(9, 5)
    whole, split = WordEmbedding(9, 5), WordEmbedding(9, 5, unseen=3)
    for embedding in (whole, split):
        with torch.no_grad():
            embedding.put(vectors)
    tokens = torch.tensor([[0, 8, 5], [6, 2, 8]])
    assert torch.equal(whole(tokens), split(tokens))
    assert torch.equal(split.weight, vectors)
    split(tokens).sum().backward()
    assert split.vectors.grad is not None
    assert split.fixed.grad is None


def test_unseen_words_are_those_of_the_vector_file_alone() -> None:
    words = WordVocabulary.learn(table("none"), TEXT, ["Peter", "unseen", "Paris"])
    assert words.unseen == 2
    assert words.vocabulary.tokens[-2:] == ("unseen", "Paris")
    folded = WordVocabulary.learn(table("none", lowercase=True), TEXT, ["Peter", "unseen", "Paris"])
    assert folded.unseen == 1  # the file has no vector of "paris"
    assert "paris" not in folded.vocabulary


def test_damaged_vocabularies_are_named(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    with pytest.raises(ModelError, match=r"words\.json: is missing; a model folder holds the words"):
        WordVocabulary.load(WordTable(), file)
    file.write_text('{"format": 9}')
    with pytest.raises(ModelError, match="the format 9 of these words is not known here; this version reads format 1"):
        WordVocabulary.load(WordTable(), file)
    file.write_text('{"format": 1, "words": [], "characters": [], "unseen": 7}')
    with pytest.raises(ModelError, match="these words are damaged \\(unseen is 7, which is not a number of its words"):
        WordVocabulary.load(WordTable(), file)
    file.write_text('{"format": 1')
    with pytest.raises(ModelError, match=r"these words are damaged .*; restore the folder from a copy, or train again"):
        WordVocabulary.load(WordTable(), file)


def test_an_lstm_needs_an_even_width_and_settings_without_effect_are_refused() -> None:
    with pytest.raises(RecipeError, match="width = 25 is divided between two directions; choose an even number"):
        CharacterTable(kind="lstm", width=25)
    with pytest.raises(RecipeError, match="window"):
        CharacterTable(kind="lstm", window=5)
    with pytest.raises(RecipeError, match="width"):
        CharacterTable(width=4)
    with pytest.raises(RecipeError, match="kind = 'gru' is not allowed; allowed are 'none', 'cnn' or 'lstm'"):
        CharacterTable(kind="gru")


@few
@given(sentences=some_sentences, world=st.integers(1, 3))
def test_shares_of_processes_are_the_rows_of_the_whole(sentences: list[list[str]], world: int) -> None:
    model = built("cnn")
    whole = batch(model, sentences)
    vectors = model(whole)
    for rank in range(world):
        chosen = torch.arange(len(sentences))[rank::world]
        torch.testing.assert_close(model(whole.select(chosen)), vectors[chosen])
