"""Whole corpora: order, budgets, scoring."""

import pytest
import torch
from decoding_toys import SmallGenerator, TableGenerator, UniformGenerator, decoding_by, random_table
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import Padded
from regard.decode import corpus, decode, decode_all, score_all
from regard.decode.corpus import batches_by_length
from regard.errors import UsageError
from regard.kernels.picking import Kernel
from regard.recipe import Decoding
from regard.tokens.vocabulary import END

corpora = st.lists(st.lists(st.integers(4, 30), max_size=4), max_size=5)


@given(corpora, st.integers(4, 30), st.sampled_from(["beam", "sample"]), st.integers(0, 1000))
def test_order_and_batches_change_nothing(sources: list[list[int]], budget: int, method: str, seed: int) -> None:
    torch.manual_seed(seed)
    model = SmallGenerator(31)
    limits = {"batch_tokens": budget, "longest_factor": 0.5, "longest_extra": 2}
    how = decoding_by(method, n_best=2, **limits)
    prefixes = [source[:1] for source in sources]
    found = decode_all(model, sources, how, prefixes=prefixes)
    assert len(found) == len(sources)
    for example, source in enumerate(sources):
        batch = Padded.of([[*source, END]])
        [alone] = decode(model, batch, how, prefixes=[prefixes[example]], examples=[example])
        assert [hypothesis.tokens for hypothesis in found[example]] == [hypothesis.tokens for hypothesis in alone]


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(1, 60))
def test_batches_hold_every_example_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(batches_by_length(lengths, budget))
    assert sorted(example for batch in batches for example in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[example] for example in batch) <= budget


def test_a_batch_is_as_full_as_the_budget_allows() -> None:
    assert [len(batch) for batch in batches_by_length([5] * 10, 20)] == [4, 4, 2]


def test_few_tokens_are_decoded_without_loading_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = Kernel.load
    monkeypatch.setattr(Kernel, "load", lambda kernel: loaded.append(kernel.name) or load(kernel))
    model, how = SmallGenerator(31), decoding_by("beam", longest_extra=2)
    for few, loads in ((5, False), (4, True)):
        monkeypatch.setattr(corpus, "FEW", few)
        decode_all(model, [[4, 5, 6, 7]], how)
        assert bool(loaded) == loads


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    how = Decoding(batch_tokens=4, longest_extra=1)
    decode_all(UniformGenerator(6), [[4], [5], [4]], how, on_progress=lambda done, of: told.append((done, of)))
    assert told == [(2, 3), (3, 3)]
    score_all(UniformGenerator(6), [[4]], [[5]], on_progress=lambda done, of: told.append((done, of)))
    assert told[2:] == [(1, 1)]


@given(corpora, st.integers(1, 40), st.integers(0, 1000))
def test_a_hypothesis_scores_what_scoring_it_gives(sources: list[list[int]], budget: int, seed: int) -> None:
    torch.manual_seed(seed)
    model = SmallGenerator(31, dropout=0.5)
    found = decode_all(model, sources, Decoding(beam=3, longest_factor=1.0, longest_extra=2))
    best = [hypotheses[0] for hypotheses in found]
    scores = score_all(model, sources, [hypothesis.tokens for hypothesis in best], budget)
    for hypothesis, log_probs in zip(best, scores, strict=True):
        assert len(log_probs) == len(hypothesis.tokens) + 1
        counted = log_probs if hypothesis.finished else log_probs[:-1]
        assert hypothesis.log_prob == pytest.approx(sum(counted), abs=1e-4)


def test_scores_are_the_tables() -> None:
    model = TableGenerator(random_table(1, 6, keys=1))
    [scores] = score_all(model, [[4, 5]], [[5, 4]])
    rows = model.table[0].log_softmax(-1)
    assert scores == pytest.approx([float(rows[2, 2, 5]), float(rows[2, 5, 4]), float(rows[5, 4, END])])


def test_nothing_in_nothing_out() -> None:
    assert decode_all(UniformGenerator(6), [], Decoding()) == []
    assert score_all(UniformGenerator(6), [], []) == []


def test_every_source_has_a_prefix_and_a_target() -> None:
    with pytest.raises(UsageError, match=r"^1 prefixes for 2 sources: give one for each$"):
        decode_all(UniformGenerator(6), [[4], [5]], Decoding(), prefixes=[[4]])
    with pytest.raises(UsageError, match=r"^3 targets for 2 sources: give one for each$"):
        score_all(UniformGenerator(6), [[4], [5]], [[], [], []])
