"""Beam and greedy search: laws, and the same searches written out with plain lists."""

import math
from functools import partial

import pytest
import torch
from decoding_toys import (
    BlindGenerator,
    SmallGenerator,
    TableGenerator,
    UniformGenerator,
    alternating_table,
    decoding_by,
    every_output,
    plain_beam,
    plain_log_prob,
    plain_log_probs,
    plain_score,
    random_table,
)
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import Padded
from regard.decode import Hypothesis, decode
from regard.errors import ModelError, UsageError
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN

seeds = st.integers(0, 10_000)
tokens = st.integers(4, 30)
some_sources = st.lists(st.lists(tokens, max_size=5), min_size=1, max_size=5)
penalties = st.sampled_from([0.0, 0.6, 1.0, 2.0])
coverage_penalties = st.sampled_from([0.0, 0.5])


def padded(sources: list[list[int]]) -> Padded:
    return Padded.of([[*source, END] for source in sources])


def settings(longest: int = 4, **changes: object) -> Decoding:
    return Decoding.model_validate({"longest_factor": 0.0, "longest_extra": longest, **changes})


@given(seeds, some_sources, st.integers(1, 3), penalties, coverage_penalties)
def test_a_beam_as_wide_as_the_space_finds_what_exhaustive_search_finds(
    seed: int, sources: list[list[int]], longest: int, length_penalty: float, coverage_penalty: float
) -> None:
    size = 6
    model = TableGenerator(random_table(seed, size))
    space = list(every_output(size, longest))
    changes = {"length_penalty": length_penalty, "coverage_penalty": coverage_penalty}
    found = decode(model, padded(sources), settings(longest, beam=len(space), n_best=len(space), **changes))
    for source, hypotheses in zip(sources, found, strict=True):
        scores = {tokens: plain_score(model, [*source, END], tokens, **changes) for tokens in space}
        assert {hypothesis.tokens for hypothesis in hypotheses} == set(space)
        assert scores[hypotheses[0].tokens] == pytest.approx(max(scores.values()), abs=1e-4)
        for hypothesis in hypotheses:
            assert hypothesis.score == pytest.approx(scores[hypothesis.tokens], abs=1e-4)


@given(seeds, some_sources, st.integers(1, 6), st.integers(0, 6), st.tuples(penalties, coverage_penalties), st.data())
def test_the_list_is_that_of_a_plain_beam(
    seed: int, sources: list[list[int]], beam: int, longest: int, penalties: tuple[float, float], data: st.DataObject
) -> None:
    model = TableGenerator(random_table(seed, 7))
    n_best = data.draw(st.integers(1, beam))
    changes = dict(zip(("length_penalty", "coverage_penalty"), penalties, strict=True))
    found = decode(model, padded(sources), settings(longest, beam=beam, n_best=n_best, **changes))
    for source, hypotheses in zip(sources, found, strict=True):
        read = [*source, END]

        def score(tokens: tuple[int, ...], finished: bool, read: list[int] = read) -> float:
            return plain_score(model, read, tokens, finished, **changes)

        next_log_probs = partial(plain_log_probs, model, read)
        expected, finished = plain_beam(next_log_probs, model.size, beam, longest, score, n_best=n_best)
        assert [hypothesis.tokens for hypothesis in hypotheses] == expected
        for hypothesis in hypotheses:
            assert hypothesis.finished is finished
            assert hypothesis.score == pytest.approx(score(hypothesis.tokens, finished), abs=1e-4)
            log_prob = plain_log_prob(model, read, hypothesis.tokens, finished)
            assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)


@given(seeds, some_sources, st.integers(0, 8), penalties)
def test_greedy_takes_the_likeliest_and_is_a_beam_of_one(
    seed: int, sources: list[list[int]], longest: int, length_penalty: float
) -> None:
    model = TableGenerator(random_table(seed, 8))
    greedy = decode(model, padded(sources), settings(longest, method="greedy", length_penalty=length_penalty))
    assert greedy == decode(model, padded(sources), settings(longest, beam=1, length_penalty=length_penalty))
    for source, [hypothesis] in zip(sources, greedy, strict=True):
        written: tuple[int, ...] = ()
        while True:
            log_probs = plain_log_probs(model, [*source, END], written)
            best = max((token for token in range(8) if token not in (PAD, BEGIN)), key=log_probs.__getitem__)
            if best == END or len(written) == longest:
                break
            written += (best,)
        assert (hypothesis.tokens, hypothesis.finished) == (written, best == END)


@given(seeds, some_sources, st.sampled_from(["greedy", "beam", "sample"]), st.data())
def test_what_else_is_in_the_batch_changes_nothing(
    seed: int, sources: list[list[int]], method: str, data: st.DataObject
) -> None:
    torch.manual_seed(seed)
    model = SmallGenerator(31)
    how = decoding_by(
        method,
        beam=4,
        n_best=1 if method == "greedy" else 3,
        longest_factor=1.0,
        longest_extra=4,
        no_repeat=data.draw(st.integers(0, 2)),
        **({"top_p": 0.9} if method == "sample" else {}),
    )
    prefixes = [data.draw(st.lists(tokens, max_size=2)) for _ in sources]
    together = decode(model, padded(sources), how, prefixes=prefixes)
    for example, source in enumerate(sources):
        [alone] = decode(model, padded([source]), how, prefixes=[prefixes[example]], examples=[example])
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in together[example]]
        for one, other in zip(alone, together[example], strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.finished == other.finished


@given(seeds, some_sources, st.integers(1, 8), penalties)
def test_n_best_is_sorted_and_distinct(seed: int, sources: list[list[int]], beam: int, length_penalty: float) -> None:
    model = TableGenerator(random_table(seed, 6))
    for hypotheses in decode(model, padded(sources), settings(beam=beam, n_best=beam, length_penalty=length_penalty)):
        assert 1 <= len(hypotheses) <= beam
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert all(math.isfinite(score) for score in scores)


@given(seeds, some_sources, st.sampled_from(["greedy", "beam", "sample"]), st.integers(0, 4), st.data())
def test_limits_are_respected(
    seed: int, sources: list[list[int]], method: str, extra: int, data: st.DataObject
) -> None:
    model, least = TableGenerator(random_table(seed, 6)), data.draw(st.integers(0, extra))
    how = Decoding(method=method, least=least, longest_factor=0.5, longest_extra=extra)  # type: ignore[arg-type]
    for source, hypotheses in zip(sources, decode(model, padded(sources), how), strict=True):
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) <= len(source) // 2 + extra
            assert len(hypothesis.tokens) >= least
            assert not {PAD, BEGIN, END} & set(hypothesis.tokens)


def test_a_beam_wider_than_the_vocabulary_works() -> None:
    [hypotheses] = decode(UniformGenerator(5), padded([[4]]), settings(3, beam=50, n_best=50))
    assert len(hypotheses) == 1 + 2 + 4 + 8


def test_without_an_end_the_best_unfinished_is_given() -> None:
    table = torch.zeros(1, 6, 6, 6)
    table[..., END] = -torch.inf
    table[..., 5] = 1.0
    for method in ("greedy", "beam"):
        [[hypothesis]] = decode(TableGenerator(table), padded([[4]]), settings(3, method=method))
        log_prob = 3 * float(table[0, 0, 0].log_softmax(-1)[5])
        assert hypothesis.tokens == (5, 5, 5)
        assert not hypothesis.finished
        assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-5)
        assert hypothesis.score == pytest.approx(log_prob / 3, abs=1e-5)


def test_a_limit_of_nothing_writes_nothing() -> None:
    ends, goes_on = (torch.zeros(1, 6, 6, 6).index_fill(3, torch.tensor(token), 9.0) for token in (END, 5))
    [[ended]] = decode(TableGenerator(ends), padded([[]]), settings(0))
    [[cut]] = decode(TableGenerator(goes_on), padded([[]]), settings(0, beam=1))
    assert (ended.tokens, ended.finished) == ((), True)
    assert cut == Hypothesis(tokens=(), score=0.0, log_prob=0.0, finished=False)


def test_a_search_whose_every_continuation_is_forbidden_gives_what_it_has() -> None:
    # No token may come twice, END may not come yet, and only UNKNOWN and 4 can be written.
    [[hypothesis]] = decode(UniformGenerator(5), padded([[4]]), settings(9, no_repeat=1, least=5))
    assert (set(hypothesis.tokens), hypothesis.finished) == ({UNKNOWN, 4}, False)
    [[drawn]] = decode(UniformGenerator(5), padded([[4]]), settings(9, no_repeat=1, least=5, method="sample"))
    assert (set(drawn.tokens), drawn.finished) == ({UNKNOWN, 4}, False)


def test_the_length_penalty_prefers_long_outputs() -> None:
    """END is likely at once, and less likely in all after a long, sure text."""
    table = torch.full((1, 6, 6, 6), -20.0)
    table[0, :, BEGIN, END], table[0, :, BEGIN, 4] = math.log(0.6), math.log(0.4)
    table[0, :, 4, 5] = table[0, 4, 5, END] = 0.0
    table[0, :, 4, END] = -40.0
    model, source = TableGenerator(table), padded([[4]])
    [[short]] = decode(model, source, settings(4, beam=2, length_penalty=0.0))
    [[long]] = decode(model, source, settings(4, beam=2, length_penalty=1.0))
    assert short.tokens == ()
    assert long.tokens == (4, 5)
    assert long.score == pytest.approx(math.log(0.4) / 3, abs=1e-4)


@pytest.mark.parametrize("n_best", [1, 3])
def test_a_search_ends_when_as_many_have_finished_as_the_beam_has_places(n_best: int) -> None:
    """One does at each step, and a better one is being written all the while."""
    model = TableGenerator(alternating_table())
    [hypotheses] = decode(model, padded([[4]]), settings(12, beam=3, n_best=n_best))
    assert [hypothesis.tokens for hypothesis in hypotheses] == [(4, 5), (4,), ()][:n_best]
    assert len(model.rows_advanced) == 3


def test_a_search_stops_when_nothing_can_beat_the_best() -> None:
    """END is all but certain at once: one step suffices, though the beam is wide and the limit far."""
    table = torch.zeros(1, 6, 6, 6)
    table[..., END] = 20.0
    model = TableGenerator(table)
    decode(model, padded([[4]]), settings(50, beam=4, length_penalty=1.0))
    assert len(model.rows_advanced) == 1


def test_rows_leave_the_batch_when_their_search_is_over() -> None:
    table = torch.full((2, 6, 6, 6), -30.0)
    table[0, ..., END] = 0.0
    table[1, ..., 5], table[1, ..., END] = 0.0, -60.0
    model = TableGenerator(table)
    found = decode(model, padded([[5], [4], [5]]), settings(3, beam=2, longest_factor=0.0))
    keys = [(token + END) % 2 for token in (5, 4, 5)]
    assert [len(hypotheses[0].tokens) for hypotheses in found] == [3 * key for key in keys]
    assert model.rows_advanced[0] == 3  # all places of a beam begin alike
    assert model.rows_advanced[1] == 2 * sum(keys)


@given(seeds, some_sources, st.integers(1, 5), st.integers(0, 4), coverage_penalties, st.data())
def test_the_first_step_has_a_row_for_each_search_and_the_others_one_for_each_place(
    seed: int, sources: list[list[int]], beam: int, longest: int, coverage_penalty: float, data: st.DataObject
) -> None:
    model = TableGenerator(random_table(seed, 7))
    # Rules of any kind change nothing about that, nor do prefixes, unless one is forced in all searches.
    prefixes = [[], *(data.draw(st.lists(st.integers(4, 6), max_size=min(longest, 2))) for _ in sources[1:])]
    rules = {"no_repeat": data.draw(st.integers(0, 2)), "least": data.draw(st.integers(0, min(longest, 2)))}
    how = settings(longest, beam=beam, coverage_penalty=coverage_penalty, **rules)
    decode(model, padded(sources), how, prefixes=prefixes)
    first, *others = model.rows_advanced
    assert first == len(sources)
    assert all(rows % beam == 0 for rows in others)
    assert sorted(others, reverse=True) == others
    assert all(rows <= beam * len(sources) for rows in others)


@given(seeds, some_sources, st.integers(1, 4))
def test_each_sample_has_a_row_of_its_own_from_the_first_step(
    seed: int, sources: list[list[int]], samples: int
) -> None:
    model = TableGenerator(random_table(seed, 7))
    decode(model, padded(sources), settings(3, method="sample", n_best=samples))
    assert model.rows_advanced[0] == samples * len(sources)


def test_no_source_no_output() -> None:
    assert decode(UniformGenerator(5), Padded.of([]), Decoding()) == []


def test_dropout_is_off_and_the_mode_is_restored() -> None:
    model = SmallGenerator(12, dropout=0.5).train()
    model.cell.eval()  # a part that its user keeps out of training
    assert decode(model, padded([[5, 6]]), Decoding()) == decode(model, padded([[5, 6]]), Decoding())
    assert (model.training, model.dropout.training, model.cell.training) == (True, True, False)


def test_attention_is_read_only_for_the_coverage_penalty() -> None:
    model = TableGenerator(random_table(1, 6))
    passed: list[bool] = []
    model.weights.register_forward_hook(lambda *_: passed.append(True))
    decode(model, padded([[4, 5]]), settings())
    assert not passed
    decode(model, padded([[4, 5]]), settings(coverage_penalty=0.2))
    assert passed
    assert not model.weights.watched


def test_a_coverage_penalty_needs_attention() -> None:
    with pytest.raises(UsageError) as error:
        decode(BlindGenerator(random_table(1, 6)), padded([[4]]), settings(coverage_penalty=0.2))
    assert str(error.value) == (
        "coverage_penalty = 0.2, but BlindGenerator has no cross-attention here; set coverage_penalty to 0"
    )


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_an_error(method: str, value: float) -> None:
    table = torch.zeros(1, 6, 6, 6)
    table[..., END] = -9.0
    table[0, 4:, 4:, 5] = value
    table[0, :, BEGIN, 4] = table[0, BEGIN, 4, 4] = 30.0
    with pytest.raises(ModelError) as error:
        decode(TableGenerator(table), padded([[4]]), settings(9, method=method), examples=[17])
    assert str(error.value) == (
        "example 17, position 2: the model's output is NaN, so no token can be chosen. "
        "Its weights are damaged or its training diverged: take an earlier checkpoint, or compute in float32"
    )


def test_each_source_has_one_number() -> None:
    with pytest.raises(UsageError, match="2 example numbers for 1 sources: give one for each"):
        decode(UniformGenerator(5), padded([[4]]), Decoding(), examples=[1, 2])


@pytest.mark.parametrize("beam", [2, 4])
def test_what_the_model_makes_of_an_empty_place_counts_for_nothing(beam: int) -> None:
    """One token alone can be first: the other places of the beam are empty, and whatever they hold leads nowhere."""
    table = torch.full((1, 6, 6, 6), -torch.inf)
    table[0, :, BEGIN, 5] = table[0, :, 5, END] = 0.0
    ((found,),) = decode(TableGenerator(table), Padded.of([[4, END]]), Decoding(beam=beam))
    assert (found.tokens, found.log_prob) == ((5,), 0.0)
