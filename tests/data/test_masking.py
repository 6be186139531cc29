"""Which words are to be guessed: a function of seed, epoch, example and place, and of nothing else."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batches import CorpusPosition
from regard.data.masking import MaskedBatches, Masking
from regard.data.sentences import NumberedSentences
from regard.recipe import CharacterTable, WordTable
from regard.tokens import UNKNOWN
from regard.tokens.word_vocabulary import WordVocabulary

TABLE = WordTable(width=5, characters=CharacterTable(kind="cnn", embedding=3, width=4))
VOCABULARY = WordVocabulary.learn(TABLE, [["a", "b", "cc"]], others=["file"])
GUESSABLE = VOCABULARY.size - VOCABULARY.unseen
sentences = st.lists(st.lists(st.sampled_from(["a", "b", "cc", "file", "never"]), max_size=6), min_size=1, max_size=5)
seeds = st.integers(0, 50)


def numbered(some: list[list[str]]) -> NumberedSentences:
    return NumberedSentences.of(some, VOCABULARY)


@given(some=sentences, seed=seeds, epoch=seeds)
def test_neither_batch_mates_nor_padding_decide(some: list[list[str]], seed: int, epoch: int) -> None:
    masking = Masking(GUESSABLE, 0.4, 0.3, seed)
    together = masking.batch(numbered(some), np.arange(len(some)), (len(some) + 1, 7), epoch)
    assert together.count == int(together.wanted.sum())
    for row, sentence in enumerate(some):
        alone = masking.batch(numbered(some), np.array([row]), None, epoch)
        length = len(sentence)
        assert torch.equal(together.wanted[row, :length], alone.wanted[0, :length])
        assert torch.equal(together.sentences.tokens[row, :length], alone.sentences.tokens[0, :length])
        assert not together.wanted[row, length:].any()
    assert not together.wanted[len(some) :].any()


@given(some=sentences, seed=seeds)
def test_only_known_words_are_wanted_and_only_wanted_ones_hidden(some: list[list[str]], seed: int) -> None:
    batch = Masking(GUESSABLE, 0.6, 0.4, seed).batch(numbered(some), np.arange(len(some)))
    read = batch.sentences
    assert read.forms is not None
    hidden = (read.tokens != batch.words) & read.keep
    assert not (hidden & ~batch.wanted).any()
    assert (read.tokens[hidden] == UNKNOWN).all()
    # What is hidden has no spelling; what is not has its own.
    assert not read.forms[hidden].any()
    assert (read.forms[read.keep & ~hidden] > 0).all()
    assert (batch.words[batch.wanted] < GUESSABLE).all()
    assert (batch.words[batch.wanted] != UNKNOWN).all()


@given(some=sentences)
def test_of_the_next_word_all_are_wanted_and_none_hidden(some: list[list[str]]) -> None:
    batch = Masking(GUESSABLE, None).batch(numbered(some), np.arange(len(some)))
    assert torch.equal(batch.sentences.tokens, batch.words)
    assert batch.count == sum(word in ("a", "b", "cc") for sentence in some for word in sentence)


@given(some=sentences)
def test_shares_of_processes_are_the_whole(some: list[list[str]]) -> None:
    batch = Masking(GUESSABLE, 0.5).batch(numbered(some), np.arange(len(some)))
    shares = [batch.rows(rank, 3) for rank in range(3)]
    assert sum(share.count for share in shares) == batch.count
    assert sorted(example for share in shares for example in share.examples) == list(range(len(some)))
    assert [batch.wanted[row].tolist() for row in range(1, len(some), 3)] == shares[1].wanted.tolist()


def test_shares_are_as_asked_and_others_in_each_epoch() -> None:
    many = numbered([["a"] * 50] * 200)
    masking = Masking(GUESSABLE, 0.15, 0.1, seed=4)
    first, second = (masking.batch(many, np.arange(200), None, epoch) for epoch in (0, 1))
    assert first.count / 10_000 == pytest.approx(0.15, abs=0.015)
    kept = (first.wanted & (first.sentences.tokens == first.words)).sum() / first.count
    assert float(kept) == pytest.approx(0.1, abs=0.03)
    both = (first.wanted & second.wanted).sum() / 10_000
    assert float(both) == pytest.approx(0.15**2, abs=0.008)
    # Neither rows nor columns are alike.
    assert first.wanted.double().mean(0).std() < 0.05
    assert first.wanted.double().mean(1).std() < 0.08


def test_batches_know_their_epoch() -> None:
    many = numbered([["a", "b", "cc"] * 5] * 6)
    batches = MaskedBatches(many, Masking(GUESSABLE, 0.3, seed=1), seed=1, batch_tokens=1000)
    found = {}
    for batch, position in batches.from_position(CorpusPosition()):
        found[position.epoch] = {
            example: row.tolist() for example, row in zip(batch.examples, batch.wanted, strict=True)
        }
        if position.epoch == 2:
            break
    assert found[1] != found[2]
    again, _ = next(batches.from_position(CorpusPosition(1)))
    assert found[2] == {example: row.tolist() for example, row in zip(again.examples, again.wanted, strict=True)}
