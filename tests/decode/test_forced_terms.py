"""Forced terms: whatever is given back contains all of them, at places of their own."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from decoding_toys import TableGenerator, UniformGenerator, apart, every_output, plain_score, random_table
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decode import Session, decode_all, score_all
from regard.decode.forced_terms import ForcedSearch, Partial, decode_forced
from regard.errors import UsageError
from regard.models import Generator
from regard.recipe import Decoding
from regard.tokens.vocabulary import END, UNKNOWN

SIZE = 8
sources = st.lists(st.integers(4, SIZE - 1), max_size=4)
terms = st.lists(st.lists(st.integers(4, SIZE + 1), min_size=1, max_size=3), min_size=1, max_size=3)
prefixes = st.lists(st.integers(4, SIZE + 1), max_size=3)
CONTINUING = {6, 7}
"""Tokens that continue a word, in tests where there are some; no term begins with one."""
words = terms.filter(lambda terms: not any(term[0] in CONTINUING for term in terms))


def decoding(**changes: object) -> Decoding:
    return Decoding.model_validate({"longest_factor": 1.0, "longest_extra": 3, **changes})


@given(
    some=st.lists(st.tuples(sources, terms), min_size=1, max_size=3),
    beam=st.integers(1, 5),
    no_repeat=st.integers(0, 2),
    least=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_every_output_contains_every_term(
    some: list[tuple[list[int], list[list[int]]]], beam: int, no_repeat: int, least: int, seed: int
) -> None:
    model = TableGenerator(random_table(seed, SIZE))
    given_sources, given_terms = [source for source, _ in some], [each for _, each in some]
    how = decoding(beam=beam, n_best=min(beam, 2), no_repeat=no_repeat, least=least)
    found = decode_forced(model, given_sources, how, given_terms)
    for source, wanted, hypotheses in zip(given_sources, given_terms, found, strict=True):
        assert 1 <= len(hypotheses) <= how.n_best
        limit = max(how.longest_output(len(source)), 2 * sum(map(len, wanted)))
        for one in hypotheses:
            assert apart(one.tokens, [tuple(term) for term in wanted]), (one.tokens, wanted)
            assert len(one.tokens) <= limit
            assert len(one.tokens) >= (least if one.finished else 0)
            assert not {0, 2, 3} & set(one.tokens)
            assert math.isfinite(one.log_prob)
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)


@given(
    some=st.lists(st.tuples(sources, prefixes, words), min_size=1, max_size=3),
    beam=st.integers(1, 5),
    no_repeat=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_every_output_begins_with_its_prefix_and_contains_every_term_as_words(
    some: list[tuple[list[int], list[int], list[list[int]]]], beam: int, no_repeat: int, seed: int
) -> None:
    model = TableGenerator(random_table(seed, SIZE))
    given_sources, given_prefixes, given_terms = (list(side) for side in zip(*some, strict=True))
    how = decoding(beam=beam, n_best=min(beam, 2), no_repeat=no_repeat)
    found = decode_forced(model, given_sources, how, given_terms, prefixes=given_prefixes, continuing=CONTINUING)
    for (source, prefix, wanted), hypotheses in zip(some, found, strict=True):
        limit = max(how.longest_output(len(source)), len(prefix) + 2 * sum(map(len, wanted)))
        assert hypotheses
        for one in hypotheses:
            assert one.tokens[: len(prefix)] == tuple(prefix)
            assert apart(one.tokens, [tuple(term) for term in wanted], CONTINUING), (one.tokens, wanted)
            assert len(one.tokens) <= limit
            assert math.isfinite(one.log_prob)


@given(some=st.lists(st.tuples(sources, prefixes), min_size=1, max_size=3), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_what_else_is_decoded_changes_nothing(some: list[tuple[list[int], list[int]]], seed: int) -> None:
    model = TableGenerator(random_table(seed, SIZE))
    wanted = [[[5, 6]], [[4], [7, 7]], [[6]]][: len(some)]
    given_sources, given_prefixes = (list(side) for side in zip(*some, strict=True))
    together = decode_forced(model, given_sources, decoding(beam=4), wanted, prefixes=given_prefixes)
    for (source, prefix), each, found in zip(some, wanted, together, strict=True):
        (alone,) = decode_forced(model, [source], decoding(beam=4), [each], prefixes=[prefix])
        assert [one.tokens for one in alone] == [one.tokens for one in found]


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@given(
    source=sources,
    term=st.lists(st.integers(4, 6), min_size=1, max_size=2),
    prefix=st.lists(st.integers(4, 6), max_size=2),
    seed=st.integers(0, 99),
)
@settings(max_examples=8)
def test_with_a_place_for_everything_the_best_output_is_found(
    length_penalty: float, source: list[int], term: list[int], prefix: list[int], seed: int
) -> None:
    model = TableGenerator(random_table(seed, 7))
    how = decoding(beam=300, n_best=1, longest_factor=0.0, longest_extra=4, length_penalty=length_penalty)
    (best,) = decode_forced(model, [source], how, [[term]], prefixes=[prefix])[0]
    longest = max(4, len(prefix) + 2 * len(term))
    begun = ((*prefix, *tokens) for tokens in every_output(7, longest - len(prefix)))
    possible = [tokens for tokens in begun if apart(tokens, [tuple(term)])]
    key = [*source, END]
    wanted = max(plain_score(model, key, tokens, length_penalty=length_penalty) for tokens in possible)
    assert best.score == pytest.approx(wanted, abs=1e-4)


def test_log_probs_are_those_of_the_model() -> None:
    model = TableGenerator(random_table(7, SIZE))
    found = decode_forced(model, [[4, 5], [6]], decoding(beam=3), [[[5, 6]], [[7], [4]]])
    outputs = [hypotheses[0] for hypotheses in found]
    for one, scores in zip(outputs, score_all(model, [[4, 5], [6]], [one.tokens for one in outputs]), strict=True):
        assert one.log_prob == pytest.approx(sum(scores if one.finished else scores[:-1]), abs=1e-4)


def test_the_model_computes_in_the_format_that_decoding_says(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = (TableGenerator(random_table(size=7, seed=seed)) for seed in (1, 2))
    asked = []

    @contextmanager
    def computing_in(self: Session, precision: str) -> Iterator[Generator]:
        asked.append(precision)
        yield other

    expected = decode_forced(other, [[4]], Decoding(), [[[5]]])
    monkeypatch.setattr(Session, "_computing_in", computing_in)
    seen: list[tuple[int, int]] = []
    how = Decoding(precision="bfloat16")
    assert decode_forced(model, [[4]], how, [[[5]]], on_progress=lambda *it: seen.append(it)) == expected
    assert asked == ["bfloat16"]
    assert seen == [(1, 1)]


def test_a_term_that_the_model_would_write_anyway_changes_nothing() -> None:
    model = TableGenerator(random_table(3, SIZE))
    how = decoding(beam=8)
    (free,) = decode_all(model, [[4, 5, 6]], how)[0]
    (forced,) = decode_forced(model, [[4, 5, 6]], how, [[list(free.tokens[1:3])]])[0]
    assert (forced.tokens, forced.score) == (free.tokens, pytest.approx(free.score, abs=1e-5))


def test_a_term_that_stands_in_the_prefix_is_not_written_again_unless_it_is_a_part_of_a_word_there() -> None:
    table = torch.zeros(1, SIZE, SIZE, SIZE)
    table[..., END] = 9.0
    model, how = TableGenerator(table), decoding(beam=3)
    (whole,) = decode_forced(model, [[4]], how, [[[5]]], prefixes=[[4, 5]], continuing={6})[0]
    assert whole.tokens == (4, 5)
    (part,) = decode_forced(model, [[4]], how, [[[5]]], prefixes=[[4, 5, 6]], continuing={6})[0]
    assert part.tokens == (4, 5, 6, 5)


def test_words_without_a_number_are_unknown_for_the_model() -> None:
    model = UniformGenerator(SIZE)
    (one,) = decode_forced(model, [[4]], decoding(beam=2), [[[SIZE + 3, 5]]])[0]
    assert (SIZE + 3, 5) in zip(one.tokens, one.tokens[1:], strict=False)
    assert one.log_prob == pytest.approx(-(len(one.tokens) + one.finished) * math.log(SIZE), abs=1e-4)


def test_what_would_continue_the_word_does_not_follow_a_term() -> None:
    table = torch.zeros(1, SIZE, SIZE, SIZE)
    table[..., 5, 6] = 5.0  # after 5 the model wants 6
    table[..., 7, END] = 5.0
    (free,) = decode_forced(TableGenerator(table), [[4, 4]], decoding(beam=3), [[[5]]])[0]
    (kept,) = decode_forced(TableGenerator(table), [[4, 4]], decoding(beam=3), [[[5]]], continuing={6})[0]
    assert (5, 6) in zip(free.tokens, free.tokens[1:], strict=False)
    assert (5, 6) not in zip(kept.tokens, kept.tokens[1:], strict=False)


def test_terms_are_told_apart_however_they_overlap() -> None:
    def written(tokens: list[int], wanted: list[list[int]]) -> list[tuple[tuple[int, ...], ...]]:
        """What may be lacking after these tokens, the least first."""
        partials = [Partial((), 0.0, tuple(map(tuple, wanted)))]
        for token in tokens:
            partials = [grown for partial in partials for grown in partial.grown(token, -1.0)]
        return sorted((partial.lacking for partial in partials), key=len)

    assert written([4, 4, 4, 5], [[4, 4, 5]]) == [()]
    assert written([4, 5, 6], [[4, 5], [5, 6]])[0] == ((5, 6),)
    assert written([4, 5, 5, 6], [[4, 5], [5, 6]])[0] == ()
    assert written([4], [[4], [4]]) == [((4,),)]
    assert written([4, 5, 4], [[4], [4, 5]])[0] == ()
    assert set(written([4, 5], [[4], [4, 5]])) == {((4,),), ((4, 5),)}
    (begun,) = Partial((4,), 0.0, ((4, 5, 6), (5, 7))).grown(5, -1.0)
    assert (begun.begun, begun.needs, begun.wanted()) == (2, 3, {4, 5, 6, 7})


def test_the_beam_is_as_wide_as_the_terms_need() -> None:
    assert ForcedSearch.of(0, decoding(beam=2), [[4, 5], [6, 6, 6]], 9, ()).width == 6
    assert ForcedSearch.of(0, decoding(beam=8), [[4]], 9, ()).width == 8
    assert ForcedSearch.of(0, decoding(method="greedy"), [[4]], 9, ()).width == 2
    assert ForcedSearch.of(0, decoding(), [[4, 5], [6, 6, 6]], 3, ()).longest == 10


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"method": "sample"},
            r"^forced terms need a search: decode\.method = 'sample' draws at random and may never produce them; "
            r"set decode\.method to 'beam' or 'greedy'$",
        ),
        (
            {"coverage_penalty": 0.2},
            r"^decode\.coverage_penalty = 0\.2 does not work with forced terms; set it to 0$",
        ),
    ],
)
def test_what_cannot_be_forced_is_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        decode_forced(UniformGenerator(SIZE), [[4]], decoding(**how), [[[UNKNOWN]]])


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ([4] * 5, r"^prefix of example 0: 5 tokens, but this output may have at most 4; raise longest_factor or "),
        ([4, END], r"^prefix of example 0: END \(3\) at place 1; leave special tokens out of prefixes$"),
    ],
)
def test_prefixes_are_refused_as_without_terms(prefix: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        decode_forced(UniformGenerator(SIZE), [[4]], decoding(), [[[5]]], prefixes=[prefix])
