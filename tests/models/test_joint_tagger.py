"""Taggers that label sentences too: one loss of both, which neither padding nor other rows change."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENCODERS as TABLES
from torch_layers import randomize

from regard.data.tagged import TaggedSentence
from regard.data.tagged_batch import NumberedTagged, TaggedBatch
from regard.models.tagger import WordTagger
from regard.recipe import TaggerModel, WordTable
from regard.tokens.tag_set import MISSING, TagSet
from regard.tokens.word_vocabulary import WordVocabulary

WORDS = WordTable(width=5)
VOCABULARY = WordVocabulary.learn(WORDS, [["a", "b", "c"]])
TAGS, LABELS = TagSet(("O", "B-x"), "iob2", "iob2"), TagSet(("one", "two", "one#two"), "none", "none")
POOLED = ["last", "mean", "max", "attention"]
some = st.lists(
    st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.sampled_from([*LABELS.tags, "unheard"])),
    min_size=1,
    max_size=4,
)
few = settings(max_examples=5)


def built(pooling: str, output: str = "crf", encoder: str = "recurrent") -> WordTagger:
    torch.manual_seed(3)
    table = TaggerModel.model_validate({"encoder": TABLES[encoder], "pooling": {"kind": pooling}, "output": output})
    model = WordTagger(table, WORDS, VOCABULARY, TAGS.tags, labels=3).double().eval()
    randomize(model)
    return model


def batch_of(rows: list[tuple[Any, str]], shape: tuple[int, int] | None = None) -> TaggedBatch:
    sentences = [TaggedSentence(tuple(words), tuple("O" for _ in words), label=label) for words, label in rows]
    return NumberedTagged.of(sentences, VOCABULARY, TAGS, LABELS).pick(np.arange(len(rows)), shape)


def loss_of(model: WordTagger, batch: TaggedBatch) -> torch.Tensor:
    return model.loss(model(batch.sentences), batch.tags, batch.sentences.lengths, batch.labels)


@pytest.mark.parametrize("output", ["softmax", "crf"])
@pytest.mark.parametrize("pooling", POOLED)
@few
@given(rows=some)
def test_the_loss_is_the_sum_of_both(pooling: str, output: str, rows: list[tuple[Any, str]]) -> None:
    model, batch = built(pooling, output), batch_of(rows)
    scores, of_labels = model(batch.sentences)
    of_tags = model.output.loss(scores, batch.tags, batch.sentences.lengths)
    known = [(row, LABELS.tags.index(label)) for row, (_, label) in enumerate(rows) if label in LABELS.tags]
    plain = sum((-of_labels[row].log_softmax(0)[label] for row, label in known), torch.zeros(()))
    torch.testing.assert_close(loss_of(model, batch).double(), (of_tags + plain).double(), rtol=1e-4, atol=1e-4)
    assert batch.count == sum(len(words) for words, _ in rows) + len(known)


@pytest.mark.parametrize("pooling", POOLED)
@few
@given(rows=some, world=st.integers(2, 3))
def test_padding_batch_mates_and_shares_change_nothing(pooling: str, rows: list[tuple[Any, str]], world: int) -> None:
    model = built(pooling)
    filled = batch_of(rows, shape=(len(rows) + 1, 6))
    alone = [batch_of([row]) for row in rows]
    torch.testing.assert_close(
        model(filled.sentences)[1][: len(rows)], torch.cat([model(each.sentences)[1] for each in alone])
    )
    shares = [filled.rows(rank, world) for rank in range(world)]
    for parts in (alone, shares):
        assert sum(part.count for part in parts) == filled.count
        whole = torch.stack([loss_of(model, part) for part in parts]).sum()
        torch.testing.assert_close(whole, loss_of(model, filled), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("encoder", TABLES)
def test_every_encoder_learns_from_both(encoder: str) -> None:
    model, batch = built("max", encoder=encoder), batch_of([(["a", "b"], "one"), (["c"], "unheard")], shape=(3, 4))
    assert batch.labels.tolist() == [0, MISSING, MISSING]
    gradients = torch.autograd.grad(loss_of(model, batch), [*model.parameters()], allow_unused=True)
    assert all(each is None or each.isfinite().all() for each in gradients)
    only_labels = batch_of([(["a"], "two")])
    of_label = torch.autograd.grad(model(only_labels.sentences)[1].sum(), model.words.embedding.vectors)
    assert of_label[0].abs().sum() > 0


def test_without_labels_there_is_nothing_to_pool() -> None:
    model = WordTagger(TaggerModel.model_validate({"encoder": TABLES["averaging"]}), WORDS, VOCABULARY, TAGS.tags)
    assert not [name for name in model.state_dict() if name.startswith(("label", "pooling"))]
    assert model(batch_of([(["a"], "one")]).sentences)[1] is None
