"""Packed rows: nothing is lost, the budget holds, hardly anything is padding, and no pair sees another."""

import json
import re
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import ListedPairs, TokenPair, token_pairs
from torch import Tensor

from regard.attention import POSITIONS
from regard.data import CorpusPosition, PairBatch, PairBatches, evaluation_batches
from regard.data.bin_packing import WIDTH, Packing, first_fit
from regard.data.packing import PackedBatch, PackedRows, PackedSequences
from regard.errors import RecipeError
from regard.models import build_model
from regard.models.generator import Generator
from regard.objectives import cross_entropy
from regard.recipe import TransformerModel, names, parse_recipe
from regard.tokens.rows import Rows

budgets = st.integers(1, 80)


def epoch_of(pairs: list[TokenPair], budget: int) -> list[PackedBatch]:
    found = []
    batches = PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget, packed=True)
    for batch, after in batches.from_position(CorpusPosition()):
        assert isinstance(batch, PackedBatch)
        found.append(batch)
        if after.epoch:
            return found
    raise AssertionError("batches have no end")


@given(token_pairs, budgets)
def test_an_epoch_has_every_pair_once_as_it_is_within_the_budget(pairs: list[TokenPair], budget: int) -> None:
    seen = {}
    for batch in epoch_of(pairs, budget):
        size, longest = batch.wanted.tokens.numel(), int(max(batch.source.lengths.max(), batch.given.lengths.max()))
        assert size <= budget or (len(batch.wanted.tokens) == 1 and longest > budget)
        assert batch.source.tokens.shape == batch.given.tokens.shape == batch.wanted.tokens.shape
        assert batch.count == int(batch.wanted.lengths.sum()) == sum(len(pairs[one][1]) + 1 for one in batch.examples)
        apart = batch.apart()
        assert apart.count == batch.count
        chosen = [pairs[one] for one in batch.examples]
        expected = PairBatch.of([source for source, _ in chosen], [target for _, target in chosen], [*batch.examples])
        for mine, theirs in ((apart.source, expected.source), (apart.wanted, expected.wanted)):
            assert torch.equal(mine.tokens, theirs.tokens)
            assert torch.equal(mine.lengths, theirs.lengths)
        for example in batch.examples:
            seen[example] = seen.get(example, 0) + 1
    assert seen == dict.fromkeys(range(len(pairs)), 1)


@given(token_pairs, budgets, st.integers(1, 8))
def test_any_position_can_be_gone_on_from(pairs: list[TokenPair], budget: int, skip: int) -> None:
    def batches() -> PairBatches:
        return PairBatches(ListedPairs(pairs), seed=2, batch_tokens=budget, packed=True)

    *_, (_, position), (expected, _) = islice(batches().from_position(CorpusPosition()), skip + 1)
    again, _ = next(batches().from_position(CorpusPosition.from_json(json.loads(json.dumps(position.as_json())))))
    assert again.examples == expected.examples
    assert torch.equal(again.source.tokens, expected.source.tokens)


@given(token_pairs, budgets, st.integers(1, 4))
def test_ranks_share_the_rows(pairs: list[TokenPair], budget: int, world: int) -> None:
    for batch in epoch_of(pairs, budget):
        shares = [batch.rows(rank, world) for rank in range(world)]
        assert sorted(example for share in shares for example in share.examples) == sorted(batch.examples)
        assert sum(share.count for share in shares) == batch.count
        for share in shares:
            assert share.count == sum(len(pairs[one][1]) + 1 for one in share.examples)
            assert isinstance(share.source, PackedSequences)
            assert len(share.source.own.place) == len(share.source.target.place) == len(share.given.tokens)


@given(token_pairs, budgets)
def test_a_batch_is_sent_as_two_tensors(pairs: list[TokenPair], budget: int) -> None:
    for batch in epoch_of(pairs, budget):
        sent: list[Tensor] = []
        mapped = batch.map(lambda tensor, sent=sent: sent.append(tensor) or tensor.clone())  # type: ignore[misc]
        assert len(sent) == 2
        assert all(tensor.is_contiguous() for tensor in sent)
        theirs = {tensor.untyped_storage().data_ptr() for tensor in (mapped.tables, mapped.lengths)}
        for mine, other in zip(parts_of(batch), parts_of(mapped), strict=True):
            assert torch.equal(mine, other)
            assert other.untyped_storage().data_ptr() in theirs


def parts_of(batch: PackedBatch) -> list[Tensor]:
    assert isinstance(batch.source, PackedSequences)
    own, target = batch.source.own, batch.source.target
    layouts = [own.sequence, own.place, target.sequence, target.place]
    return layouts + [part for one in (batch.source, batch.given, batch.wanted) for part in (one.tokens, one.lengths)]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=20), st.integers(1, 5), st.integers(9, 20))
def test_a_pair_stands_in_the_first_row_with_room(lengths: list[tuple[int, int]], count: int, width: int) -> None:
    sizes = np.array(lengths, dtype=np.int64).reshape(-1, 2)
    found = first_fit(sizes, np.arange(len(sizes)), count, width).tolist()
    for place, pair in enumerate(lengths):
        before = [
            [sum(lengths[one][side] for one in range(place) if found[one] == row) for side in (0, 1)]
            for row in range(count)
        ]
        fits = [row for row, used in enumerate(before) if all(u + p <= width for u, p in zip(used, pair, strict=True))]
        assert found[place] == (fits[0] if fits else -1)


def test_hardly_anything_is_padding_and_there_are_few_shapes() -> None:
    rng = np.random.default_rng(0)
    sources = np.exp(rng.normal(3.0, 0.55, 20000)).clip(3, 99).round()
    targets = (sources * np.exp(rng.normal(0, 0.12, 20000))).clip(3, 99).round()
    plan = Packing(4096).plan(sources.astype(int).tolist(), targets.astype(int).tolist())
    assert {rows.shape for rows in plan} == {(32, WIDTH)}
    assert (targets + 1).sum() / sum(rows.shape[0] * rows.shape[1] for rows in plan) > 0.96
    assert {rows.shape for rows in Packing(4096).plan([300, 3, 130, 4], [2, 200, 5, 5])} == {(8, 512)}
    assert [rows.shape for rows in Packing(100).plan([300, 3], [2, 4])] == [(1, 301), (1, 100)]


@pytest.mark.parametrize(
    ("usual", "width"),
    [([5] * 700 + [300], WIDTH), ([5] * 9 + [300], 4 * WIDTH), ([200] * 20 + [300], 2 * WIDTH), ([9999], 4096)],
)
def test_wider_rows_are_rare(usual: list[int], width: int) -> None:
    assert {rows.shape for rows in Packing(4096, usual).plan([3, 4], [5, 6])} == {(4096 // width, width)}


@given(token_pairs, budgets)
def test_evaluation_has_every_pair_once(pairs: list[TokenPair], budget: int) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    batches = list(evaluation_batches(sources, targets, budget, packing=Packing(budget)))
    assert sorted(example for batch in batches for example in batch.examples) == list(range(len(pairs)))
    for batch in batches:
        chosen = [pairs[one] for one in batch.examples]
        expected = PairBatch.of([source for source, _ in chosen], [target for _, target in chosen], [*batch.examples])
        assert torch.equal(batch.apart().source.tokens, expected.source.tokens)
        assert torch.equal(batch.apart().wanted.tokens, expected.wanted.tokens)


def loss_and_gradients(model: Generator, batch: PairBatch) -> list[Tensor]:
    model.zero_grad(set_to_none=True)
    loss = cross_entropy(model, batch, label_smoothing=0.1)
    loss.backward()  # type: ignore[no-untyped-call]
    found = [parameter.grad for parameter in model.parameters()]
    return [loss.detach(), *(tensor for tensor in found if tensor is not None)]


SOURCES, TARGETS = [[4, 5, 6], [5], [], [6, 6, 4, 5, 7], [7]], [[5, 6, 7, 8], [], [4, 4], [8], [6, 7]]


@pytest.mark.spread(6)
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("changes", [{}, {"window": 2}, {"norm": "post"}])
def test_packed_pairs_give_the_loss_and_the_gradient_of_padded_ones(position: str, changes: dict[str, Any]) -> None:
    sizes = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 2, "decoder_layers": 2}
    sizes |= {"clip": 2} if position in names.POSITIONS.using("clip") else {}
    settings = TransformerModel(kind="transformer", position=position, **sizes | changes)
    model = build_model(settings, 9, 9).double().eval()
    padded = loss_and_gradients(model, PairBatch.of(SOURCES, TARGETS, [0, 1, 2, 3, 4]))
    # An empty row, rows of one, two and three pairs, and room left over on both sides.
    rows = PackedRows(np.array([0, 2, 1, 4, 3]), np.array([2, 4, 5]), (4, 12))
    batch = PackedBatch.pack(Rows.of(SOURCES), Rows.of(TARGETS), np.arange(5), rows)
    packed = loss_and_gradients(model, batch)
    for one, other in zip(padded, packed, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("model", [{"kind": "recurrent"}, {"kind": "transformer", "copying": True}])
def test_a_model_that_would_mix_them_up_is_refused(model: dict[str, Any]) -> None:
    tables = {"data": {"corpus": "copy"}, "tokens": {"shared": True}, "model": model}
    parse_recipe(tables | {"train": {"steps": 1}})
    line = "train.pack = true puts several pairs into a row, which only model.kind = 'transformer' without copying"
    with pytest.raises(RecipeError, match=re.escape(line)):
        parse_recipe(tables | {"train": {"steps": 1, "pack": True}})
