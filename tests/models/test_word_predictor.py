"""Guessing words: laws for every encoder, and losses against plain computations."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENCODERS as TABLES
from torch.nn import functional as F
from torch_layers import randomize

from regard.data.masking import MaskedBatch, Masking, mask
from regard.data.sentences import NumberedSentences
from regard.models.word_predictor import WordPredictor
from regard.recipe import CharacterTable, PretrainingModel, WordTable
from regard.tokens.word_vocabulary import WordVocabulary

WORDS = ["a", "b", "cc", "d"]
TABLE = WordTable(width=5, characters=CharacterTable(kind="cnn", embedding=3, width=4))
VOCABULARY = WordVocabulary.learn(TABLE, [WORDS], others=["file"])
GUESSABLE = VOCABULARY.size - VOCABULARY.unseen
ENCODERS: dict[str, dict[str, Any]] = {**TABLES, "both directions": {**TABLES["recurrent"], "bidirectional": True}}
every_encoder = pytest.mark.parametrize("name", ENCODERS)
some_sentences = st.lists(st.lists(st.sampled_from([*WORDS, "file", "new"]), max_size=5), min_size=1, max_size=4)
few = settings(max_examples=6)


@cache
def built(name: str, tie: bool = True) -> WordPredictor:
    torch.manual_seed(3)
    table = PretrainingModel.model_validate({"encoder": ENCODERS[name], "tie": tie})
    model = WordPredictor(table, TABLE, VOCABULARY).double().eval()
    randomize(model)
    return model


def batch_of(sentences: list[list[str]], name: str, shape: tuple[int, int] | None = None) -> MaskedBatch:
    share = None if built(name).is_causal else 0.5
    masking = Masking(GUESSABLE, share, 0.2, seed=7)
    return masking.batch(NumberedSentences.of(sentences, VOCABULARY), np.arange(len(sentences)), shape)


def test_one_direction_alone_is_causal() -> None:
    assert [name for name in ENCODERS if built(name).is_causal] == ["recurrent"]


@every_encoder
@few
@given(sentences=some_sentences)
def test_losses_of_rows_are_the_loss_of_the_batch_whatever_fills_it(name: str, sentences: list[list[str]]) -> None:
    model = built(name)
    whole = model.loss(batch_of(sentences, name, (len(sentences) + 1, 6)))
    assert whole.isfinite()
    parts = [batch_of(sentences, name).rows(row, len(sentences)) for row in range(len(sentences))]
    torch.testing.assert_close(whole, sum((model.loss(part) for part in parts), torch.zeros_like(whole)))


@every_encoder
@few
@given(sentences=some_sentences)
def test_the_loss_is_that_of_the_wanted_words_alone(name: str, sentences: list[list[str]]) -> None:
    model, batch = built(name), batch_of(sentences, name)
    features = model(batch.sentences)
    logits = features @ model.words.embedding.vectors.T + model.readout.bias
    expected = F.cross_entropy(logits[batch.wanted], batch.words[batch.wanted], reduction="sum")
    torch.testing.assert_close(model.loss(batch), expected)
    found, right = model.judge(batch)
    assert found == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
    assert right == int((logits[batch.wanted].argmax(1) == batch.words[batch.wanted]).sum())


@every_encoder
@few
@given(sentences=some_sentences, place=st.integers(0, 4), other=st.sampled_from(WORDS))
def test_of_a_masked_word_nothing_can_be_seen(name: str, sentences: list[list[str]], place: int, other: str) -> None:
    changed = [[*sentence[:place], other, *sentence[place + 1 :]] for sentence in sentences if len(sentence) > place]
    given = [sentence for sentence in sentences if len(sentence) > place]
    if given:
        read = [NumberedSentences.of(some, VOCABULARY).pick(np.arange(len(some))) for some in (given, changed)]
        hidden = torch.zeros(read[0].tokens.shape, dtype=torch.bool)
        hidden[:, place] = True
        first, second = (built(name)(mask(each, hidden)) for each in read)
        torch.testing.assert_close(first[read[0].keep], second[read[0].keep])


@few
@given(sentence=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), later=st.lists(st.sampled_from(WORDS)))
def test_in_one_direction_a_word_is_guessed_from_those_before_it(sentence: list[str], later: list[str]) -> None:
    model, length = built("recurrent"), len(sentence)
    long, short = (model(batch_of([words], "recurrent").sentences) for words in ([*sentence, *later], sentence))
    torch.testing.assert_close(long[0, :length], short[0])
    # Not even from itself.
    other = model(batch_of([[*sentence[:-1], "b"]], "recurrent").sentences)
    torch.testing.assert_close(other, short)
    assert not short[0, 0].any()


@every_encoder
def test_gradients_reach_all_that_is_learned(name: str) -> None:
    model = built(name, tie=False)
    batch = batch_of([["a", "b", "cc"], ["d", "new", "file"], ["b"] * 5], name)
    named = dict(model.named_parameters())
    trained = {name: each for name, each in named.items() if each.requires_grad}
    gradients = torch.autograd.grad(model.loss(batch), [*trained.values()], allow_unused=True)
    assert set(named) - set(trained) == {"words.embedding.fixed"}
    assert [
        name for name, each in zip(trained, gradients, strict=True) if each is None or not each.isfinite().all()
    ] == []
    assert "readout.vectors" not in dict(built(name).named_parameters())
