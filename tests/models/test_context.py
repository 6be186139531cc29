"""Classifiers of conversations: what each text is given, and what changes nothing."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import ENCODERS as TABLES
from model_strategies import used
from torch_layers import randomize

from regard.data.batches import CorpusPosition
from regard.data.conversations import NOWHERE, STRETCH, Conversations, TextsInContext, plan_stretches
from regard.data.labelled import LabelledText
from regard.data.labelled_batch import LabelledBatch, NumberedLabelled
from regard.models.classifier import TextClassifier
from regard.recipe import ClassifierModel, WordTable
from regard.recipe.names import NORMALIZERS, SCORES
from regard.tap import record
from regard.tokens.tag_set import TagSet
from regard.tokens.word_vocabulary import WordVocabulary

TABLE = WordTable.model_validate({"width": 5, "characters": {"kind": "cnn", "embedding": 2, "width": 2}})
VOCABULARY = WordVocabulary.learn(TABLE, [["a", "b", "c"]])
LABELS = TagSet(("x", "y"), "none", "none")
REACH = 2
texts_of = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("AB"), st.lists(st.sampled_from("abc"), max_size=4)),
    min_size=1,
    max_size=9,
)
few = settings(max_examples=6)


def conversations(rows: list[tuple[int, str, list[str]]]) -> list[LabelledText]:
    """Texts of a few conversations, one conversation after another."""
    ordered = sorted(rows, key=lambda row: row[0])
    return [LabelledText(tuple(words), ("x",), "", number + 1, speaker) for number, speaker, words in ordered]


def built(score: str = "additive", normalizer: str = "softmax", encoder: str = "recurrent") -> TextClassifier:
    torch.manual_seed(3)
    context = {"kind": "attention", "reach": REACH, "score": score, "normalizer": normalizer}
    table = {"encoder": TABLES[encoder], "pooling": {"kind": "max"}, "context": context | used(SCORES, score, hidden=3)}
    model = TextClassifier(ClassifierModel.model_validate(table), TABLE, VOCABULARY, 2).double().eval()
    randomize(model)
    return model


def picked(texts: list[LabelledText], chosen: Any = None) -> LabelledBatch:
    numbered = NumberedLabelled.of(texts, VOCABULARY, LABELS, REACH)
    return numbered.pick(np.arange(len(texts)) if chosen is None else np.array(chosen))


@pytest.mark.parametrize(
    ("score", "normalizer"), [(score, [*NORMALIZERS][place % len(NORMALIZERS)]) for place, score in enumerate(SCORES)]
)
@few
@given(rows=texts_of)
def test_only_what_was_said_before_in_reach_changes_anything(score: str, normalizer: str, rows: Any) -> None:
    model, texts = built(score, normalizer), conversations(rows)
    together = model(picked(texts).texts)
    assert together.isfinite().all()
    for place, text in enumerate(texts):
        near = [each for each in texts[max(place - REACH, 0) : place] if each.conversation == text.conversation]
        alone = model(picked([*near, text], [len(near)]).texts)
        torch.testing.assert_close(together[place : place + 1], alone)


@few
@given(rows=texts_of, data=st.data(), world=st.integers(1, 3))
def test_any_choice_and_any_share_of_texts_gives_the_same(rows: Any, data: st.DataObject, world: int) -> None:
    model, texts = built(), conversations(rows)
    whole = model(picked(texts).texts)
    chosen = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True, min_size=1))
    batch = picked(texts, chosen)
    torch.testing.assert_close(model(batch.texts), whole[chosen])
    shares = [batch.rows(rank, world) for rank in range(world)]
    assert sum(share.count for share in shares) == batch.count == len(chosen)
    for rank, share in enumerate(shares):
        assert isinstance(share.texts, TextsInContext)
        needed = {text for row in share.texts.earlier.tolist() for text in row} | set(share.texts.asked.tolist())
        assert sum(len(band.tokens) for band in share.texts.bands) == len(needed - {NOWHERE})
        if share.examples:
            torch.testing.assert_close(model(share.texts), whole[chosen][rank::world])


def test_the_weights_are_those_of_texts_before_the_nearest_first() -> None:
    model = built()
    texts = conversations([(0, "A", ["a"]), (0, "B", ["b"]), (0, "A", ["c", "a"]), (1, "A", ["a"])])
    batch = picked(texts)
    with record(model, "context.attention.weights") as seen:
        model(batch.texts)
    weights = seen.last("context.attention.weights")
    assert seen.axes["context.attention.weights"] == ("row", "head", "text", "earlier")
    assert weights.shape == (4, 1, 1, REACH)
    torch.testing.assert_close(weights.sum((1, 2, 3)), torch.tensor([0.0, 1, 1, 0], dtype=weights.dtype))
    assert weights[1, 0, 0].tolist() == [1, 0]
    assert isinstance(batch.texts, TextsInContext)
    assert batch.texts.same.tolist()[2] == [False, True]


def test_who_speaks_matters_and_names_do_not() -> None:
    model = built()
    said = [(0, "A", ["a"]), (0, "B", ["b"])]
    first = model(picked(conversations(said)).texts)
    torch.testing.assert_close(model(picked(conversations([(0, "X", ["a"]), (0, "Y", ["b"])])).texts), first)
    alone = model(picked(conversations([(0, "A", ["a"]), (0, "A", ["b"])])).texts)
    assert not torch.allclose(alone[1], first[1])


@pytest.mark.parametrize("encoder", TABLES)
def test_every_encoder_reads_conversations_and_has_finite_gradients(encoder: str) -> None:
    model = built(encoder=encoder)
    batch = picked(conversations([(0, "A", []), (0, "B", ["a", "b"]), (1, "A", ["c"]), (1, "B", [])]))
    loss = model.loss(model(batch.texts), batch.labels, batch.known)
    gradients = torch.autograd.grad(loss, [*model.parameters()], allow_unused=True)
    assert all(each is None or each.isfinite().all() for each in gradients)
    assert gradients[[name for name, _ in model.named_parameters()].index("context.relation")].abs().sum() > 0


@given(sizes=st.lists(st.integers(1, 3 * STRETCH), min_size=1, max_size=4), budget=st.integers(1, 200))
def test_stretches_have_every_text_once_and_batches_keep_their_budget(sizes: list[int], budget: int) -> None:
    texts = [LabelledText((), (), "", number) for number, size in enumerate(sizes) for _ in range(size)]
    stretches = Conversations(texts, REACH).stretches
    assert np.concatenate(stretches).tolist() == list(range(len(texts)))
    assert all(
        len(stretch) <= STRETCH and len({texts[each].conversation for each in stretch}) == 1 for stretch in stretches
    )
    words = np.array([len(stretch) for stretch in stretches])
    plan = plan_stretches(words, budget)
    assert np.concatenate(plan).tolist() == list(range(len(stretches)))
    assert all(words[part].sum() <= budget or len(part) == 1 for part in plan)


@few
@given(rows=texts_of, seed=st.integers(0, 9))
def test_an_epoch_has_every_text_once_from_any_position(rows: Any, seed: int) -> None:
    texts = conversations(rows)
    batches = NumberedLabelled.of(texts, VOCABULARY, LABELS, REACH).training_batches(seed, 6, 0)
    found: list[tuple[LabelledBatch, CorpusPosition]] = []
    for batch, after in batches.from_position(CorpusPosition()):
        found.append((batch, after))
        if after.epoch:
            break
    assert sorted(example for batch, _ in found for example in batch.examples) == list(range(len(texts)))
    middle = found[len(found) // 2]
    again, _ = next(batches.from_position(found[len(found) // 2 - 1][1] if len(found) > 1 else CorpusPosition()))
    assert again.examples == (middle if len(found) > 1 else found[0])[0].examples
