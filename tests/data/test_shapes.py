"""Batches of few shapes: nothing is lost, the budget holds, little is padding, and what pads changes nothing."""

import json
from itertools import combinations, islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, every_model, tiny_model
from pair_strategies import ListedPairs, TokenPair, token_pairs
from torch import Tensor

from regard.data import CorpusPosition, PairBatch, PairBatches
from regard.data.shapes import MULTIPLE, Shapes
from regard.models.generator import Generator
from regard.objectives import cross_entropy
from regard.tokens import BEGIN, END, PAD

budgets = st.integers(1, 80)
counts = st.integers(1, 5)


@given(st.lists(st.integers(1, 100), max_size=40), counts, st.integers(1, 90), st.integers(1, 120))
def test_every_length_fits_one_of_few_widths(lengths: list[int], count: int, budget: int, other: int) -> None:
    shapes = Shapes(lengths, count, budget)
    assert len(shapes.widths) <= count
    within = [length for length in lengths if length <= budget]
    assert set(shapes.widths_of(within).tolist()) <= set(shapes.widths.tolist())
    every = np.arange(1, 121)
    widths = shapes.widths_of(every)
    assert (widths >= every).all()
    assert (np.diff(widths) >= 0).all()
    width = int(shapes.widths_of(other))
    assert shapes.rows_of(width) * width <= budget or (shapes.rows_of(width) == 1 and width == other)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20), counts)
def test_no_choice_of_widths_wastes_less(lengths: list[int], count: int) -> None:
    needed = sorted({-(-length // MULTIPLE) * MULTIPLE for length in lengths})
    ours = Shapes(lengths, count, 1000).widths_of(lengths).sum()
    choices = combinations(needed, min(count, len(needed)))
    covering = [choice for choice in choices if choice[-1] == needed[-1]]
    assert ours == min(sum(min(w for w in choice if w >= length) for length in lengths) for choice in covering)


def epoch_of(pairs: list[TokenPair], budget: int, count: int) -> list[PairBatch]:
    found = []
    for batch, after in PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget, shapes=count).from_position(
        CorpusPosition()
    ):
        found.append(batch)
        if after.epoch:
            return found
    raise AssertionError("batches have no end")


@given(token_pairs, budgets, counts)
def test_an_epoch_has_every_pair_once_in_few_shapes_within_the_budget(
    pairs: list[TokenPair], budget: int, count: int
) -> None:
    epoch = epoch_of(pairs, budget, count)
    assert sorted(example for batch in epoch for example in batch.examples) == list(range(len(pairs)))
    shapes = set()
    for batch in epoch:
        assert batch.source.tokens.shape == batch.given.tokens.shape == batch.wanted.tokens.shape
        size, longest = batch.wanted.tokens.numel(), int(max(batch.source.lengths.max(), batch.given.lengths.max()))
        assert size <= budget or (len(batch.wanted.tokens) == 1 and longest > budget)
        shapes |= {tuple(batch.wanted.tokens.shape)} if longest <= budget else set()
        assert batch.count == int(batch.wanted.lengths.sum())
        real = len(batch.examples)
        assert batch.source.tokens[real:].flatten().unique().tolist() in ([], [END], [PAD, END])
        assert batch.given.tokens[real:].flatten().unique().tolist() in ([], [BEGIN], [PAD, BEGIN])
        assert batch.source.lengths[real:].tolist() == batch.given.lengths[real:].tolist()
        assert set(batch.given.lengths[real:].tolist()) <= {1}
        assert not batch.wanted.keep[real:].any()
    assert len(shapes) <= count


@given(token_pairs, budgets, counts, st.integers(1, 8))
def test_any_position_can_be_gone_on_from(pairs: list[TokenPair], budget: int, count: int, skip: int) -> None:
    def batches() -> PairBatches:
        return PairBatches(ListedPairs(pairs), seed=2, batch_tokens=budget, shapes=count)

    *_, (_, position), (expected, _) = islice(batches().from_position(CorpusPosition()), skip + 1)
    again, _ = next(batches().from_position(CorpusPosition.from_json(json.loads(json.dumps(position.as_json())))))
    assert again.examples == expected.examples
    assert torch.equal(again.source.tokens, expected.source.tokens)


@given(token_pairs, budgets, counts, st.integers(1, 4))
def test_ranks_share_the_rows_and_the_shape(pairs: list[TokenPair], budget: int, count: int, world: int) -> None:
    for batch in epoch_of(pairs, budget, count):
        shares = [batch.rows(rank, world) for rank in range(world)]
        assert sorted(example for share in shares for example in share.examples) == sorted(batch.examples)
        assert sum(share.count for share in shares) == batch.count
        assert [len(share.wanted.tokens) for share in shares] == [
            len(range(rank, len(batch.wanted.tokens), world)) for rank in range(world)
        ]


def test_little_is_padding() -> None:
    rng = np.random.default_rng(0)
    lengths = np.clip(np.exp(rng.normal(3.0, 0.55, 20000)).round(), 3, 99).astype(int)
    widths = Shapes(lengths, 16, 4096).widths_of(lengths)
    assert lengths.sum() / widths.sum() > 0.91


def loss_and_gradients(model: Generator, batch: PairBatch) -> list[Tensor]:
    model.zero_grad(set_to_none=True)
    loss = cross_entropy(model, batch, label_smoothing=0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    found = [parameter.grad for parameter in model.parameters()]
    return [loss.detach(), *(tensor for tensor in found if tensor is not None)]


@pytest.mark.spread(12)
@every_model
def test_what_fills_a_shape_changes_neither_loss_nor_gradient(name: str) -> None:
    model = tiny_model(name)
    sources, targets = [[4, 5, 6], [5], []], [[5, 6, 7, 8], [], [4, 4]]
    assert max(map(max, filter(None, sources))) < SOURCE_SIZE
    assert max(map(max, filter(None, targets))) < TARGET_SIZE
    words = [[9, 5, 10], [9], []] if model.copies else None
    exact = loss_and_gradients(model, PairBatch.of(sources, targets, [0, 1, 2], words=words))
    filled = loss_and_gradients(model, PairBatch.of(sources, targets, [0, 1, 2], shape=(7, 12), words=words))
    for one, other in zip(exact, filled, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-11)
