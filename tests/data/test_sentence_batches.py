"""Batches of sentences: each once an epoch, within the budget, found again from any position."""

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import CorpusPosition
from regard.data.batch import pad_rows
from regard.data.fill_rows import Indices
from regard.data.sentence_batches import SentenceBatches, plan_sentences
from regard.errors import DataError
from regard.tokens.rows import Rows

Picked = tuple[list[int], tuple[int, int] | None]
some_lengths = st.lists(st.integers(1, 9), min_size=1, max_size=30).map(np.array)


def picked(chosen: Indices, shape: tuple[int, int] | None) -> Picked:
    return chosen.tolist(), shape


def made(lengths: Indices, budget: int, seed: int = 1, shapes: int = 0) -> SentenceBatches[Picked]:
    return SentenceBatches(lengths, picked, seed=seed, batch_tokens=budget, shapes=shapes)


@given(some_lengths, st.integers(1, 40), st.integers(0, 3), st.integers(0, 9))
def test_an_epoch_has_every_sentence_once_within_the_budget(
    lengths: Indices, budget: int, shapes: int, skip: int
) -> None:
    batches, found = made(lengths, budget, shapes=shapes), []
    for (chosen, shape), after in batches.from_position(CorpusPosition()):
        found += chosen
        rows, width = shape or (len(chosen), int(lengths[chosen].max()))
        assert len(chosen) <= rows
        assert lengths[chosen].max() <= width
        assert rows * width <= budget or rows == 1
        if after.epoch:
            break
    assert sorted(found) == list(range(len(lengths)))
    assert batches.tokens == lengths.sum()

    through = list(islice(made(lengths, budget, shapes=shapes).from_position(CorpusPosition()), skip + 3))
    position = CorpusPosition.from_json(json.loads(json.dumps(through[skip][1].as_json())))
    assert list(islice(made(lengths, budget, shapes=shapes).from_position(position), 2)) == through[skip + 1 :]


@given(some_lengths, st.integers(1, 40))
def test_a_plan_has_every_sentence_once(lengths: Indices, budget: int) -> None:
    plan = plan_sentences(lengths, budget)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
    assert all(len(rows) * lengths[rows].max() <= budget or len(rows) == 1 for rows in plan)


def test_a_corpus_without_sentences_is_refused() -> None:
    with pytest.raises(DataError, match="there is no training sentence"):
        made(np.array([], dtype=np.int64), 10)


@given(st.lists(st.lists(st.integers(4, 99), max_size=4), min_size=1, max_size=5), st.data())
def test_padded_rows_are_the_chosen_ones(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    padded = pad_rows(Rows.of(rows), np.array(chosen), data.draw(st.sampled_from([None, (len(chosen) + 1, 5)])))
    found = [row[:length] for row, length in zip(padded.tokens.tolist(), padded.lengths.tolist(), strict=True)]
    assert found[: len(chosen)] == [rows[place] for place in chosen]
    assert not any(found[len(chosen) :])
    assert not padded.tokens[~padded.keep].any()
