"""Batches: every example once an epoch, within the budget, in an order that can be found again from any position."""

import json
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import ListedPairs, TokenPair, token_pairs

from regard import recipe
from regard.data import CorpusPosition, Padded, PairBatch, PairBatches, evaluation_batches, plan_batches
from regard.errors import DataError
from regard.tokens import BEGIN, END, PAD, train_tokenizer
from regard.train.schedules import count_pass

budgets = st.integers(1, 80)


def one_epoch(batches: PairBatches, epoch: int = 0) -> list[tuple[PairBatch, CorpusPosition]]:
    found = []
    for batch, after in batches.from_position(CorpusPosition(epoch)):
        found.append((batch, after))
        if after.epoch > epoch:
            return found
    raise AssertionError("batches have no end")


def rows_of(padded: Padded) -> list[list[int]]:
    return [row[:length] for row, length in zip(padded.tokens.tolist(), padded.lengths.tolist(), strict=True)]


@pytest.fixture(autouse=True, scope="module")
def _small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.data.batches.BATCHES_IN_SHARD", 3)
        yield


@given(pairs=token_pairs, budget=budgets, seed=st.integers(-2, 5))
def test_an_epoch_has_every_pair_once_as_it_is(pairs: list[TokenPair], budget: int, seed: int) -> None:
    epoch = one_epoch(PairBatches(ListedPairs(pairs), seed=seed, batch_tokens=budget))
    assert sorted(example for batch, _ in epoch for example in batch.examples) == list(range(len(pairs)))
    for batch, _ in epoch:
        sources, targets = zip(*(pairs[example] for example in batch.examples), strict=True)
        assert rows_of(batch.source) == [[*row, END] for row in sources]
        assert rows_of(batch.given) == [[BEGIN, *row] for row in targets]
        assert rows_of(batch.wanted) == [[*row, END] for row in targets]
        assert batch.count == sum(len(row) + 1 for row in targets)


@given(pairs=token_pairs, budget=budgets)
def test_the_budget_counts_padding_and_holds_but_for_pairs_that_exceed_it_alone(
    pairs: list[TokenPair], budget: int
) -> None:
    for batch, _ in one_epoch(PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget)):
        size = max(batch.source.tokens.numel(), batch.wanted.tokens.numel())
        assert size <= budget or len(batch.examples) == 1


@given(pairs=token_pairs, budget=budgets, seed=st.integers(0, 5), skip=st.integers(0, 40))
def test_any_position_can_be_gone_on_from(pairs: list[TokenPair], budget: int, seed: int, skip: int) -> None:
    def make() -> PairBatches:
        return PairBatches(ListedPairs(pairs), seed=seed, batch_tokens=budget)

    through = list(islice(make().from_position(CorpusPosition()), skip + 5))
    position = through[skip - 1][1] if skip else CorpusPosition()
    again = list(islice(make().from_position(CorpusPosition.from_json(json.loads(json.dumps(position.as_json())))), 5))
    assert [after for _, after in again] == [after for _, after in through[skip:]]
    for (ours, _), (theirs, _) in zip(again, through[skip:], strict=True):
        assert ours.examples == theirs.examples
        assert torch.equal(ours.source.tokens, theirs.source.tokens)
        assert torch.equal(ours.wanted.tokens, theirs.wanted.tokens)


def test_positions_grow_and_count_epochs() -> None:
    pairs = ListedPairs([([5] * n, [6] * n) for n in range(1, 30)])
    batches = PairBatches(pairs, seed=1, batch_tokens=40)
    assert batches.shards > 1
    afters = [after for _, after in islice(batches.from_position(CorpusPosition()), 60)]
    assert afters == sorted(afters)
    assert afters[-1].epoch >= 1
    assert {after.shard for after in afters} == set(range(batches.shards))


@given(pairs=token_pairs.filter(bool), budget=budgets)
def test_passes_grow_by_what_was_taken(pairs: list[TokenPair], budget: int) -> None:
    """At the ends of shards by the pairs so far, and inside of them as many batches as there are, evenly."""
    batches, taken, before = PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget), 0, 0.0
    assert batches.passes(CorpusPosition()) == 0.0
    for batch, after in islice(batches.from_position(CorpusPosition()), 12):
        taken += len(batch.examples)
        passes = batches.passes(after)
        assert before < passes
        if after.batch == 0:
            assert passes == pytest.approx(taken / len(pairs))
        assert after.epoch <= passes < after.epoch + 1
        before = passes


@given(pairs=token_pairs.filter(bool), budget=budgets)
def test_tokens_are_those_of_the_longer_side(pairs: list[TokenPair], budget: int) -> None:
    batches = PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget)
    assert batches.tokens == sum(max(len(source), len(target)) + 1 for source, target in pairs)
    # So that a pass has no fewer batches than these tokens fill, but for pairs that fill more than one by themselves.
    if max(max(map(len, pair)) for pair in pairs) < budget:
        assert count_pass(batches.from_position(CorpusPosition())) >= batches.tokens / budget


def test_epochs_and_seeds_differ_in_order() -> None:
    pairs = ListedPairs([([5] * (n % 7), [6] * (n % 5)) for n in range(100)])

    def order(seed: int, epoch: int) -> list[tuple[int, ...]]:
        return [batch.examples for batch, _ in one_epoch(PairBatches(pairs, seed=seed, batch_tokens=30), epoch)]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_batches_of_an_epoch_are_not_sorted_by_length() -> None:
    pairs = ListedPairs([([5] * (n % 20), [6] * (n % 20)) for n in range(200)])
    batches = PairBatches(pairs, seed=1, batch_tokens=40)
    widths = [batch.source.tokens.shape[1] for batch, _ in one_epoch(batches)]
    assert widths != sorted(widths)


@given(pairs=token_pairs, budget=budgets, world=st.integers(1, 4))
def test_ranks_share_the_rows_of_a_batch(pairs: list[TokenPair], budget: int, world: int) -> None:
    batch, _ = next(PairBatches(ListedPairs(pairs), seed=1, batch_tokens=budget).from_position(CorpusPosition()))
    shares = [batch.rows(rank, world) for rank in range(world)]
    assert sorted(example for share in shares for example in share.examples) == sorted(batch.examples)
    assert sum(share.count for share in shares) == batch.count
    assert sum(int(share.wanted.lengths.sum()) for share in shares) == batch.count


@given(pairs=token_pairs, budget=budgets)
def test_evaluation_has_every_pair_once_shortest_first(pairs: list[TokenPair], budget: int) -> None:
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    batches = list(evaluation_batches(sources, targets, budget))
    assert sorted(example for batch in batches for example in batch.examples) == list(range(len(pairs)))
    longest = [max(batch.source.tokens.shape[1], batch.wanted.tokens.shape[1]) for batch in batches]
    assert longest == sorted(longest)
    for batch in batches:
        assert rows_of(batch.source) == [[*sources[example], END] for example in batch.examples]


def test_bucketing_wastes_little() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, 4000)
    plan = plan_batches(lengths.tolist(), lengths.tolist(), 2048)
    padded = sum(len(rows) * (int(lengths[rows].max()) + 1) for rows in plan)
    assert (lengths + 1).sum() / padded > 0.97


def test_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(DataError, match="there is no training pair"):
        PairBatches(ListedPairs([]), seed=1, batch_tokens=10)


@pytest.mark.parametrize("position", [CorpusPosition(0, 9, 0), CorpusPosition(2, 0, 99)])
def test_a_position_of_other_data_is_refused(position: CorpusPosition) -> None:
    batches = PairBatches(ListedPairs([([5], [6])] * 3), seed=1, batch_tokens=10)
    place = f"epoch {position.epoch}, shard {position.shard}, batch {position.batch}"
    message = f"the training data have no {place}, where the run is to go on, so they are not those it began with"
    with pytest.raises(DataError, match=message):
        next(batches.from_position(position))


# Subwords sampled at random.

TEXTS = ["abcabc", "abcd", "abca", "bcdabc", "dabc"] * 4


def sampled(longest: int | None = None, seed: int = 1) -> tuple[PairBatches, ListedPairs]:
    tokenizer = train_tokenizer(recipe.TokenizerSettings(kind="bpe", size=16, dropout=0.5), TEXTS)
    pairs = SampledPairs([(tokenizer.encode(text), tokenizer.encode(text[::-1])) for text in TEXTS])
    batches = PairBatches(pairs, seed=seed, batch_tokens=24, source=tokenizer, target=tokenizer, longest=longest)
    return batches, pairs


class SampledPairs(ListedPairs):
    def text(self, index: int) -> tuple[str, str]:
        return TEXTS[index], TEXTS[index][::-1]


def sources(batches: PairBatches, epoch: int) -> dict[int, list[int]]:
    return {
        example: row
        for batch, _ in one_epoch(batches, epoch)
        for example, row in zip(batch.examples, rows_of(batch.source), strict=True)
    }


def test_sampling_is_a_function_of_seed_epoch_and_example() -> None:
    first = sources(sampled()[0], 0)
    assert sources(sampled()[0], 0) == first
    assert sources(sampled()[0], 1) != first
    assert sources(sampled(seed=2)[0], 0) != first
    plain = {example: [*pair[0], END] for example, pair in enumerate(sampled()[1].pairs)}
    assert first != plain


def test_sampled_batches_can_be_gone_on_from_and_keep_the_budget() -> None:
    through = list(islice(sampled()[0].from_position(CorpusPosition()), 12))
    for start in range(11):
        batch, after = next(sampled()[0].from_position(through[start][1]))
        assert after == through[start + 1][1]
        assert torch.equal(batch.source.tokens, through[start + 1][0].source.tokens)
        assert max(batch.source.tokens.numel(), batch.wanted.tokens.numel()) <= 24


def test_sampled_text_that_became_too_long_is_not_sampled() -> None:
    batches, pairs = sampled(longest=3)
    for example, row in sources(batches, 0).items():
        assert len(row) - 1 <= 3 or row[:-1] == pairs.pairs[example][0]


# Padding.


@given(rows=st.lists(st.lists(st.integers(1, 9), max_size=6), max_size=5), multiple=st.integers(1, 4))
def test_padding(rows: list[list[int]], multiple: int) -> None:
    padded = Padded.of(rows, multiple)
    assert rows_of(padded) == rows
    assert padded.tokens.shape[1] % multiple == 0
    assert padded.tokens.shape[1] - max(map(len, rows), default=0) < multiple
    assert torch.equal(padded.keep, padded.tokens != PAD)
    assert padded.tokens.dtype == padded.lengths.dtype == torch.long
