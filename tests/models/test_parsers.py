"""Parsers: laws for every kind on every encoder, and parity with scores computed word by word."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_layers import randomize
from tree_strategies import all_trees, crosses

from regard.data.sentences import NumberedSentences, Sentences
from regard.data.trees import UNSEEN, TreeBatch
from regard.models.parsing import PARSERS, DependencyParser, ParserParts, build_parser
from regard.models.parsing.graph import GraphParser
from regard.models.parsing.transition import TransitionParser
from regard.recipe import CharacterTable, WordTable
from regard.recipe.parsing import GraphParserModel, TransitionParserModel
from regard.tap import intervene, record
from regard.tokens.word_vocabulary import WordVocabulary

RELATIONS = 3
WORDS = WordTable(width=4, characters=CharacterTable(kind="cnn", embedding=2, width=3))
VOCABULARY = WordVocabulary.learn(WORDS, [["a", "b", "c", "d", "e"]])
ENCODERS: dict[str, dict[str, Any]] = {
    "averaging": {"embedding": 6},
    "window": {"embedding": 6, "hidden": 6},
    "recurrent": {"embedding": 6, "hidden": 3},
    "transformer": {"width": 6, "heads": 2, "layers": 1},
}
every_kind = pytest.mark.parametrize("kind", ["graph", "transition"])
few = settings(max_examples=5)
some = st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=3).filter(any)


def built(kind: str, encoder: str = "recurrent", **changes: Any) -> DependencyParser:
    torch.manual_seed(5)
    table = {"kind": encoder, **ENCODERS[encoder]}
    common = {"kind": kind, "encoder": table, "relation_width": 4, **changes}
    if kind == "graph":
        settings: Any = GraphParserModel.model_validate({**common, "arc_width": 5})
    else:
        settings = TransitionParserModel.model_validate({**common, "hidden": 5})
    model = build_parser(settings, ParserParts(WORDS, VOCABULARY, RELATIONS)).double().eval()
    randomize(model)
    return model


def batch(sentences: list[list[str]], shape: tuple[int, int] | None = None) -> Sentences:
    return NumberedSentences.of(sentences, VOCABULARY).pick(np.arange(len(sentences)), shape)


def with_trees(sentences: list[list[str]], data: st.DataObject, shape: tuple[int, int] | None = None) -> TreeBatch:
    """The same batch with any projective trees."""
    read = batch(sentences, shape)
    heads, relations = torch.zeros_like(read.tokens), torch.zeros_like(read.tokens)
    for row, sentence in enumerate(sentences):
        if sentence:
            projective = [tree for tree in all_trees(len(sentence)) if not crosses(tree)]
            heads[row, : len(sentence)] = torch.tensor(data.draw(st.sampled_from(projective)))
            relations[row, : len(sentence)] = data.draw(st.integers(0, RELATIONS - 1))
    return TreeBatch(read, heads, relations, sum(map(len, sentences)))


def test_every_parser_is_held_to_the_laws() -> None:
    assert {*PARSERS} == {"graph", "transition"}


@every_kind
@few
@given(sentences=some, data=st.data())
def test_loss_is_a_sum_over_sentences_and_padding_changes_nothing(
    kind: str, sentences: list[list[str]], data: st.DataObject
) -> None:
    model = built(kind)
    whole = with_trees(sentences, data, (len(sentences) + 1, 6))
    parts = torch.tensor(0.0, dtype=torch.float64)
    for row, sentence in enumerate(sentences):
        if sentence:
            cut = slice(len(sentence))
            alone = TreeBatch(
                batch([sentence]), whole.heads[row : row + 1, cut], whole.relations[row : row + 1, cut], len(sentence)
            )
            parts += model.loss(alone)
    torch.testing.assert_close(model.loss(whole).double(), parts, rtol=1e-4, atol=1e-4)
    assert sum(whole.rows(rank, 3).count for rank in range(3)) == whole.count
    assert whole.rows(6, 7).count == 0
    shares = [model.loss(whole.rows(rank, 2)) for rank in range(2)]
    torch.testing.assert_close(sum(shares).double(), parts, rtol=1e-4, atol=1e-4)  # type: ignore[union-attr]


@pytest.mark.parametrize(("kind", "encoder"), [*(("graph", each) for each in ENCODERS), ("transition", "recurrent")])
@few
@given(sentences=some)
def test_trees_are_trees_and_padding_changes_nothing(kind: str, encoder: str, sentences: list[list[str]]) -> None:
    model = built(kind, encoder)
    together = model.trees(batch(sentences, (len(sentences) + 1, 6)))
    for row, sentence in enumerate(sentences):
        if not sentence:
            continue
        alone = model.trees(batch([sentence]))
        heads = tuple(together.heads[row, : len(sentence)].tolist())
        assert heads == tuple(alone.heads[0].tolist())
        assert heads in all_trees(len(sentence))
        torch.testing.assert_close(together.relations[row, : len(sentence)], alone.relations[0])
        projective = tuple(model.trees(batch([sentence]), projective=True).heads[0].tolist())
        assert not crosses(projective)


@every_kind
def test_gradients_reach_everything_and_are_finite(kind: str) -> None:
    model = built(kind)
    trees = TreeBatch(
        batch([["a", "b", "c", "d"], ["e"]], (3, 6)),
        torch.tensor([[2, 0, 4, 2, 0, 0], [0] * 6, [0] * 6]),
        torch.tensor([[0, 1, UNSEEN, 2, 0, 0], [1] * 6, [0] * 6]),
        5,
    )
    gradients = torch.autograd.grad(model.loss(trees), [*model.parameters()])
    for (name, _), gradient in zip(model.named_parameters(), gradients, strict=True):
        assert gradient.isfinite().all(), name
        assert gradient.any(), name


def test_arc_and_relation_scores_are_the_formulas_of_the_paper() -> None:
    model = built("graph")
    assert isinstance(model, GraphParser)
    sentences = batch([["a", "b", "c"]])
    features = model.read(sentences)[0]

    def projected(part: Any, vector: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.leaky_relu(part.map.weight @ vector + part.map.bias, 0.1)

    arcs = model.arc_log_probs(features[None], sentences)[0]
    for word in range(1, 4):
        dependent = projected(model.scores.dependent, features[word])
        scores = []
        for head in [place for place in range(4) if place != word]:
            vector = projected(model.scores.head, features[head])
            scores.append(dependent @ model.scores.product @ vector + model.scores.prior @ vector)
        expected = torch.stack(scores).float().log_softmax(0)
        found = torch.cat([arcs[word - 1, :word], arcs[word - 1, word + 1 :]])
        torch.testing.assert_close(found, expected)
    heads = torch.tensor([[2, 0, 2]])
    relations = model.relation_log_probs(features[None], heads)[0]
    for word, head in enumerate(heads[0].tolist(), start=1):
        one = torch.tensor([1.0], dtype=torch.float64)
        dependent = torch.cat([projected(model.labels.dependent, features[word]), one])
        vector = torch.cat([projected(model.labels.head, features[head]), one])
        expected = torch.stack([dependent @ each @ vector for each in model.labels.product]).float().log_softmax(0)
        torch.testing.assert_close(relations[word - 1], expected)


def test_what_is_recorded_are_the_probabilities_and_arcs_can_be_replaced() -> None:
    model, sentences = built("graph"), batch([["a", "b", "c"]])
    with record(model, "arcs", "relations") as seen:
        watched = model.trees(sentences)
    alone = model.trees(sentences)
    assert torch.equal(watched.heads, alone.heads)
    assert torch.equal(watched.relations, alone.relations)
    torch.testing.assert_close(seen.last("arcs").sum(-1), torch.ones(1, 3))
    assert seen.last("relations").shape == (1, 3, RELATIONS)
    chain = torch.tensor([[[0.8, 0, 0.1, 0.1], [0.1, 0.8, 0, 0.1], [0.1, 0.1, 0.8, 0]]])
    with intervene(model, "arcs", lambda arcs: chain):
        assert model.trees(sentences).heads.tolist() == [[0, 1, 2]]


def test_the_transition_parser_follows_its_own_moves_in_training_if_it_explores() -> None:
    model = built("transition", dropout=0.0)
    assert isinstance(model, TransitionParser)
    gold = [tree for tree in all_trees(3) if not crosses(tree)]
    trees = TreeBatch(batch([["a", "b", "c"]] * len(gold)), torch.tensor(gold), torch.zeros(len(gold), 3).long(), 9)
    steady = model.loss(trees)
    for explore in (0.0, 1.0):
        model.explore = explore
        assert model.eval().loss(trees) == steady
        assert (model.train().loss(trees) == steady) == (explore == 0)
    with record(model.eval(), "moves") as seen:
        model.trees(trees.sentences)
    assert [tuple(each.shape) for each in seen["moves"]] == [(len(gold), 1, 3)] * 6
