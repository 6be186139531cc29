"""Batches made of many pairs at once are those that are made of lists, pair by pair."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import TokenPair, token_pairs, token_rows
from torch import Tensor

from regard.data import PairBatch
from regard.tokens.rows import Rows


@given(st.lists(token_rows, max_size=8), st.data())
def test_rows_are_the_lists_they_were_made_of(lists: list[list[int]], data: st.DataObject) -> None:
    rows = Rows.of(lists)
    assert len(rows) == len(lists)
    assert rows.lists() == lists
    assert rows.lengths.tolist() == list(map(len, lists))
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=5)) if lists else []
    assert rows.lengths_of(np.array(chosen, dtype=np.int64)).tolist() == [len(lists[one]) for one in chosen]


@given(token_pairs, st.data(), st.booleans(), st.booleans())
def test_picked_pairs_are_those_of_lists(
    pairs: list[TokenPair], data: st.DataObject, filled: bool, copied: bool
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(pairs) - 1), unique=True, max_size=6))
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    words = [[token + 30 for token in source] for source in sources] if copied else None
    shape = (len(chosen) + 2, 15) if filled else None
    examples = [7 * place for place in range(len(pairs))]
    expected = PairBatch.of(
        [sources[one] for one in chosen],
        [targets[one] for one in chosen],
        [examples[one] for one in chosen],
        shape,
        None if words is None else [words[one] for one in chosen],
    )
    picked = PairBatch.pick(
        Rows.of(sources),
        Rows.of(targets),
        np.array(chosen, dtype=np.int64),
        np.array(examples),
        shape,
        None if words is None else Rows.of(words),
    )
    assert (picked.count, picked.examples) == (expected.count, expected.examples)
    for mine, theirs in zip(tensors(picked), tensors(expected), strict=True):
        assert torch.equal(mine, theirs)
        assert mine.dtype == theirs.dtype
        assert mine.is_contiguous()


def tensors(batch: PairBatch) -> list[Tensor]:
    found: list[Tensor] = []
    batch.map(lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found
