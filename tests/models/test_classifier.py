"""Classifiers: laws of pooling for every encoder, and losses against plain computations."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENCODERS as TABLES
from model_strategies import used
from torch_layers import randomize

from regard.data.labelled import LabelledText
from regard.data.labelled_batch import LabelledBatch, NumberedLabelled
from regard.models.classifier import TextClassifier
from regard.models.pooling import POOLINGS
from regard.recipe import ClassifierModel, PoolingTable, WordTable
from regard.recipe.names import NORMALIZERS, SCORES
from regard.tap import record
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

WORDS = ["a", "b", "c", "d"]
TABLE = WordTable(width=5)
VOCABULARY = WordVocabulary.learn(TABLE, [WORDS])
LABELS = TagSet(("x", "y", "z"), "none", "none")
ATTENTIONS = [
    PoolingTable(kind="attention", score=score, **used(SCORES, score, hidden=3), normalizer=normalizer)
    for score, normalizer in zip(SCORES, [*NORMALIZERS] * len(SCORES), strict=False)
]
POOLED = [*(PoolingTable(kind=kind) for kind in POOLINGS if kind != "attention"), *ATTENTIONS]
some_texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=4)
few = settings(max_examples=6)


def name_of(pooling: PoolingTable) -> str:
    return f"{pooling.kind}-{pooling.score}" if pooling.kind == "attention" else pooling.kind


def built(pooling: PoolingTable, encoder: str = "recurrent", multiple: bool = False) -> TextClassifier:
    torch.manual_seed(3)
    table = ClassifierModel.model_validate({"encoder": TABLES[encoder], "pooling": pooling})
    model = TextClassifier(table, TABLE, VOCABULARY, 3, multiple=multiple).double().eval()
    randomize(model)
    return model


def batch_of(texts: list[list[str]], labels: Any = (), shape: tuple[int, int] | None = None) -> LabelledBatch:
    several = [LabelledText(tuple(words), tuple(chosen)) for words, chosen in zip(texts, labels or texts, strict=True)]
    return NumberedLabelled.of(several, VOCABULARY, LABELS).pick(np.arange(len(texts)), shape)


@pytest.mark.parametrize("pooling", POOLED, ids=name_of)
@few
@given(texts=some_texts)
def test_padding_and_batch_mates_change_nothing(pooling: PoolingTable, texts: list[list[str]]) -> None:
    model = built(pooling)
    together = model(batch_of(texts, shape=(len(texts) + 1, 6)).texts)[: len(texts)]
    alone = torch.cat([model(batch_of([text]).texts) for text in texts])
    assert together.isfinite().all()
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("encoder", TABLES)
def test_every_encoder_is_pooled_and_has_finite_gradients_for_empty_texts(encoder: str) -> None:
    for pooling in (*POOLED[:3], ATTENTIONS[0]):
        model = built(pooling, encoder)
        batch = batch_of([["a", "b"], [], ["c"]], ["x", "y", "z"], shape=(4, 3))
        scores = model(batch.texts)
        torch.testing.assert_close(scores[:3], torch.cat([model(batch_of([t]).texts) for t in (["a", "b"], [], ["c"])]))
        loss = model.loss(scores, batch.labels, batch.known)
        gradients = torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)
        assert all(each is None or each.isfinite().all() for each in gradients)


@pytest.mark.parametrize("pooling", ATTENTIONS, ids=name_of)
def test_weights_sum_to_one_over_words_and_a_single_word_has_all(pooling: PoolingTable) -> None:
    model = built(pooling)
    with record(model, "pooling.weights") as seen:
        model(batch_of([["a", "b", "c"], ["d"], []]).texts)
    weights = seen.last("pooling.weights")
    assert weights.shape == (3, 3)
    torch.testing.assert_close(weights.sum(1), torch.tensor([1, 1, 0], dtype=weights.dtype))
    torch.testing.assert_close(weights[1], torch.tensor([1, 0, 0], dtype=weights.dtype))
    assert (weights >= 0).all()


def test_pooling_is_what_it_says() -> None:
    model = built(POOLED[0])
    texts = batch_of([["a", "b", "c"], ["d"]]).texts
    encoded = model.encoder.encode(model.words(texts), texts.lengths)
    pools = {kind: built(PoolingTable(kind=kind)).pooling(encoded) for kind in ("last", "mean", "max")}
    torch.testing.assert_close(pools["last"], encoded.final)
    for row, length in enumerate((3, 1)):
        features = encoded.features[row, :length]
        torch.testing.assert_close(pools["mean"][row], features.sum(0) / length)
        torch.testing.assert_close(pools["max"][row], features.max(0).values)


def test_losses_are_those_of_a_plain_computation() -> None:
    scores = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [5.0, 5.0, 5.0]])
    batch = batch_of([["a"], ["b"], ["c"]], ["y", "z", ["unheard"]], shape=None)
    assert batch.known.tolist() == [True, True, False]
    assert batch.count == 2
    one = built(POOLED[0]).loss(scores, batch.labels, batch.known).item()
    rows = scores.tolist()
    plain = sum(math.log(sum(map(math.exp, row))) - row[label] for row, label in ((rows[0], 1), (rows[1], 2)))
    assert one == pytest.approx(plain, rel=1e-5)
    batch = batch_of([["a"], ["b"]], [["x", "z"], []])
    assert batch.labels.tolist() == [[1, 0, 1], [0, 0, 0]]
    several = built(POOLED[0], multiple=True).loss(scores[:2], batch.labels, batch.known).item()
    signs = [[1, -1, 1], [-1, -1, -1]]
    plain = sum(
        math.log1p(math.exp(-sign * score)) for row, chosen in zip(rows, signs, strict=False)
        for score, sign in zip(row, chosen, strict=True)
    )  # fmt: skip
    assert several == pytest.approx(plain, rel=1e-5)


def test_labels_are_the_likeliest_or_all_that_are_likelier_than_not() -> None:
    scores = torch.tensor([[1.0, 2.0, -0.5], [-1.0, -3.0, -2.0]])
    one, several = built(POOLED[0]), built(POOLED[0], multiple=True)
    assert one.chosen(scores).tolist() == [[False, True, False], [True, False, False]]
    assert several.chosen(scores).tolist() == [[True, True, False], [False, False, False]]
    torch.testing.assert_close(one.probabilities(scores), scores.softmax(1))
    torch.testing.assert_close(several.probabilities(scores), scores.sigmoid())


@few
@given(texts=some_texts, world=st.integers(1, 3))
def test_shares_of_a_batch_are_the_whole(texts: list[list[str]], world: int) -> None:
    model, batch = built(POOLED[1]), batch_of(texts, ["x"] * len(texts), shape=(len(texts) + 2, 5))
    shares = [batch.rows(rank, world) for rank in range(world)]
    assert sum(share.count for share in shares) == batch.count == len(texts)
    parts = [model.loss(model(share.texts), share.labels, share.known) for share in shares]
    torch.testing.assert_close(torch.stack(parts).sum(), model.loss(model(batch.texts), batch.labels, batch.known))
