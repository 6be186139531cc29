"""Segments: every token once a pass, each after the one before it, in an order that can be found again."""

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data import CorpusPosition, SegmentBatch
from regard.data.segments import LEAST, SegmentBatches, reading_segments, training_segments
from regard.data.stream import TokenText
from regard.errors import DataError
from regard.recipe import LanguageData
from regard.tokens import BEGIN, END, PAD

lines = st.lists(
    st.tuples(st.lists(st.integers(4, 9), max_size=7).map(lambda row: [*row, END]), st.booleans()),
    min_size=1,
    max_size=12,
)
contexts = st.sampled_from(["stream", "documents", "lines"])
budgets = st.integers(1, 40)
segments = st.integers(1, 9)


def text_of(rows: list[tuple[list[int], bool]]) -> TokenText:
    (first, _), *rest = rows
    return TokenText.of([(first, True), *rest])


def batches_of(text: TokenText, context: str, budget: int, segment: int, **settings: Any) -> SegmentBatches:
    if context != "stream":
        settings = {name: value for name, value in settings.items() if name not in ("vary", "rotate")}
    data = LanguageData(corpus="topics", documents="blank", context=context, segment=segment, **settings)
    return training_segments(text, data, seed=3, batch_tokens=max(budget, segment))


def one_pass(batches: SegmentBatches, epoch: int = 0) -> list[tuple[SegmentBatch, CorpusPosition]]:
    found = []
    for batch, after in batches.from_position(CorpusPosition(epoch)):
        found.append((batch, after))
        if after.epoch > epoch:
            return found
    raise AssertionError("batches have no end")


def same(one: SegmentBatch, other: SegmentBatch) -> bool:
    pairs = [(one.given.tokens, other.given.tokens), (one.wanted.tokens, other.wanted.tokens), (one.fresh, other.fresh)]
    return all(torch.equal(left, right) for left, right in pairs)


@given(lines, contexts, budgets, segments, st.booleans(), st.integers(0, 2))
def test_every_token_is_wanted_once_after_the_one_before_it(
    rows: list[tuple[list[int], bool]], context: str, budget: int, segment: int, vary: bool, epoch: int
) -> None:
    text = text_of(rows)
    wanted: dict[int, list[int]] = {}
    read: list[list[int]] = []
    for batch, _ in one_pass(batches_of(text, context, budget, segment, vary=vary), epoch):
        given, after = batch.given.tokens.tolist(), batch.wanted.tokens.tolist()
        lengths = batch.wanted.lengths.tolist()
        assert batch.given.lengths.tolist() == lengths
        assert batch.count == sum(lengths)
        if batch.fresh.any():
            assert batch.fresh.all()
            read += wanted.values()
            wanted = {row: [] for row in range(len(lengths))}
        for row, length in enumerate(lengths):
            if length and wanted[row]:
                assert given[row][0] == wanted[row][-1]
            assert given[row][1:length] == after[row][: max(length - 1, 0)]
            assert set(given[row][length:]) | set(after[row][length:]) <= {PAD}
            wanted[row] += after[row][:length]
    read += wanted.values()
    ends = text.ends(context)
    if context == "stream":
        assert [token for row in read for token in row] == text.stream.tolist()
    else:
        pieces = [text.stream[start:end].tolist() for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        assert sorted(read) == sorted(pieces)


@given(lines, contexts, budgets, segments)
def test_what_stands_before_a_row(rows: list[tuple[list[int], bool]], context: str, budget: int, segment: int) -> None:
    text = text_of(rows)
    for batch, places in reading_segments(text, context, rows=max(1, budget // segment), segment=segment).once():
        first, fresh = batch.given.tokens[:, 0].tolist(), batch.fresh.tolist()
        for row in batch.given.lengths.nonzero().flatten().tolist():
            before = text.stream[places[row] - 1]
            if context == "stream":
                assert first[row] == (before if places[row] else END)
            else:
                assert first[row] == (BEGIN if fresh[row] else before)


@given(lines, budgets, segments, st.booleans(), st.integers(0, 2))
def test_rows_that_rotate_read_every_token_once_after_the_one_before_it_in_the_text(
    rows: list[tuple[list[int], bool]], budget: int, segment: int, vary: bool, epoch: int
) -> None:
    # Every token is another one, so that it tells its place.
    size = len(text_of(rows))
    text = TokenText(np.arange(10, 10 + size), np.array([size]), np.zeros(1, dtype=np.uint32))
    straight = one_pass(batches_of(text, "stream", budget, segment, vary=vary), epoch)
    rotated = one_pass(batches_of(text, "stream", budget, segment, vary=vary, rotate=True), epoch)
    assert len(rotated) == len(straight)
    read: dict[int, list[int]] = {}
    for (batch, _), (other, _) in zip(rotated, straight, strict=True):
        assert torch.equal(batch.wanted.lengths, other.wanted.lengths)
        assert torch.equal(batch.fresh, other.fresh)
        for row, length in enumerate(batch.wanted.lengths.tolist()):
            wanted, given = batch.wanted.tokens[row, :length].tolist(), batch.given.tokens[row, :length].tolist()
            assert given == [END if token == 10 else token - 1 for token in wanted]
            read.setdefault(row, []).extend(wanted)
    assert sorted(token for row in read.values() for token in row) == text.stream.tolist()
    for row in read.values():
        begin = row.index(min(row))
        assert row[begin:] + row[:begin] == sorted(row)


def test_rows_rotate_anew_in_each_pass() -> None:
    text = TokenText(np.arange(10, 910), np.array([900]), np.zeros(1, dtype=np.uint32))
    batches = batches_of(text, "stream", 90, 30, rotate=True)
    firsts = [one_pass(batches, epoch)[0][0].wanted.tokens[:, 0].tolist() for epoch in range(3)]
    assert len({tuple(first) for first in firsts}) == 3
    assert all(300 * row <= token - 10 < 300 * (row + 1) for first in firsts for row, token in enumerate(first))


@given(lines, contexts, budgets, segments, st.booleans(), st.booleans(), st.data())
def test_any_position_is_found_again(
    rows: list[tuple[list[int], bool]],
    context: str,
    budget: int,
    segment: int,
    vary: bool,
    rotate: bool,
    data: st.DataObject,
) -> None:
    def batches() -> SegmentBatches:
        return batches_of(text_of(rows), context, budget, segment, vary=vary, rotate=rotate)

    whole = list(islice(batches().from_position(CorpusPosition()), 12))
    place = data.draw(st.integers(0, len(whole) - 1))
    after = CorpusPosition.from_json(json.loads(json.dumps(whole[place][1].as_json())))
    again = list(islice(batches().from_position(after), 12 - place - 1))
    for (one, first), (other, second) in zip(whole[place + 1 :], again, strict=True):
        assert first == second
        assert same(one, other)


@given(lines, contexts, budgets, segments)
def test_passes_grow_and_are_whole_at_their_ends(
    rows: list[tuple[list[int], bool]], context: str, budget: int, segment: int
) -> None:
    batches = batches_of(text_of(rows), context, budget, segment)
    found = [batches.passes(after) for _, after in one_pass(batches)]
    assert found == sorted(found)
    assert found[-1] == 1.0
    assert all(value > 0 for value in found)


@given(lines, budgets, segments, st.integers(1, 4))
def test_processes_share_rows(rows: list[tuple[list[int], bool]], budget: int, segment: int, world: int) -> None:
    for batch, _ in one_pass(batches_of(text_of(rows), "stream", budget, segment)):
        shares = [batch.rows(rank, world) for rank in range(world)]
        assert sum(share.count for share in shares) == batch.count
        assert sum(len(share.fresh) for share in shares) == len(batch.fresh)
        for rank, share in enumerate(shares):
            assert torch.equal(share.given.tokens, batch.given.tokens[rank::world])


def test_a_budget_holds_in_every_context() -> None:
    text = text_of([([4] * length + [END], True) for length in (3, 9, 1, 30, 2, 2, 5)])
    for context in ("stream", "documents", "lines"):
        for batch, _ in one_pass(batches_of(text, context, 24, 6)):
            assert batch.given.tokens.numel() <= 24


def test_random_lengths_are_about_the_length_that_was_asked_for() -> None:
    text = text_of([([4] * 40_000, True)])
    batches = batches_of(text, "stream", 70, 70, vary=True)
    widths = np.array([batch.given.tokens.shape[1] for batch, _ in one_pass(batches)[:-1]])
    assert 60 < widths.mean() < 75
    assert (np.abs(widths - 70) < 25).mean() > 0.9
    assert widths.min() >= LEAST
    other = [batch.given.tokens.shape[1] for batch, _ in one_pass(batches, 1)[:-1]]
    assert widths.tolist() != other


def test_a_batch_maps_all_its_tensors() -> None:
    (batch, _), *_ = one_pass(batches_of(text_of([([4, 5, END], True)]), "stream", 4, 2))
    seen: list[tuple[int, ...]] = []
    batch.map(lambda tensor: seen.append(tuple(tensor.shape)) or tensor)  # type: ignore[func-returns-value]
    assert len(seen) == 5
    assert same(batch.to(torch.device("cpu")), batch)


@pytest.mark.parametrize("position", [CorpusPosition(0, 1, 0), CorpusPosition(0, 0, 9)])
def test_a_position_that_is_not_there(position: CorpusPosition) -> None:
    batches = batches_of(text_of([([4, 5, END], True)]), "stream", 4, 2)
    with pytest.raises(DataError) as refusal:
        next(batches.from_position(position))
    place = f"epoch 0, shard {position.shard}, batch {position.batch}"
    assert f"the training data have no {place}, where the run is to go on" in str(refusal.value)


def test_nothing_to_read() -> None:
    with pytest.raises(DataError, match="there is no token in the text: its lines are empty, and"):
        batches_of(TokenText.of([([], True)]), "stream", 4, 2)
