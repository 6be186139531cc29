"""Fast decoding changes nothing: real models against a search that rereads everything at every step."""

from functools import cache, partial

import pytest
import torch
from decoding_toys import TableGenerator, plain_beam, random_table
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import Tensor

from regard.data.batch import padded_sources
from regard.decode import decode, decode_all
from regard.decode.candidates import RUN, Likeliest, likeliest
from regard.decode.captured import CapturedStepping
from regard.decode.ranking import LEAST_COVERAGE
from regard.decode.stepping import Stepping
from regard.models import Ensemble, Generator, build_model
from regard.models.generator import State
from regard.recipe import Decoding
from regard.tap import record
from regard.tokens.vocabulary import BEGIN, END

CPU = torch.device("cpu")
SOURCES = [[4, 5, 6, 4], [], [6, 6], [5, 4, 4], [6], [4, 4, 5, 5, 6]]
WORDS = [[9, 5, 10, 9], [], [9, 9], [5, 4, 4], [9], [4, 4, 9, 9, 10]]
"""For those who copy: some are unknown."""
KINDS = [
    "transformer-scaled_dot-sinusoidal",
    "transformer-additive-sinusoidal",
    "transformer-scaled_dot-relative",
    "transformer-scaled_dot-rotary",
    "recurrent-none-before",
    "recurrent-additive-before",
    "recurrent-multiplicative-after",
    "recurrent-dot-feed",
]
COPYING = ["copying-feed", "copying-transformer"]
each_kind = pytest.mark.parametrize("name", KINDS)


def model_of(name: str) -> Generator:
    if name.endswith("ensemble"):
        return Ensemble([model_of(member) for member in (COPYING if name == "copying-ensemble" else KINDS[::4])])
    torch.manual_seed(len(name))
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # further from uniform, so that rounding does not decide
    return model


class Rereading:
    """A model that rereads the whole prefix in one pass, alone in its batch."""

    def __init__(self, model: Generator, source: list[int], words: list[int] | None) -> None:
        self.model = model
        self.source = padded_sources([source], None if words is None else [words])
        self.size = len(self.next_log_probs(()))  # there are more where words of the source can be copied

    @torch.no_grad()
    def next_log_probs(self, written: tuple[int, ...]) -> list[float]:
        """How likely each token is after what is written."""
        features, state = self._read(written)
        log_probs: list[float] = self.model.readout_of(state).logits(features[:, -1])[0].log_softmax(-1).tolist()
        return log_probs

    @torch.no_grad()
    def coverage(self, tokens: tuple[int, ...]) -> float:
        """Σ log(min(attention, 1)) over the source, of the heads' mean in the highest layer (Wu et al. 2016)."""
        tap = self.model.cross_taps[-1]
        with record(self.model, tap) as seen:
            self._read(tokens)
        return float(seen.last(tap)[0].mean(0).sum(0).clamp(LEAST_COVERAGE, 1).log().sum())

    def score(self, tokens: tuple[int, ...], finished: bool, *, coverage_penalty: float = 0.0) -> float:
        whole = (*tokens, END) if finished else tokens
        total = sum(self.next_log_probs(whole[:place])[token] for place, token in enumerate(whole))
        score = total / max(len(whole), 1)
        if coverage_penalty:
            score += coverage_penalty * self.coverage(tokens)
        return score

    def _read(self, written: tuple[int, ...]) -> tuple[Tensor, State]:
        state = self.model.start(self.source, len(written) + 1)
        return self.model.advance(torch.tensor([[BEGIN, *written]]), state)


def check_against_plain(model: Generator, how: Decoding, stepping: Stepping | None = None) -> None:
    """Decodes in one batch, and each source by a search in lists that shares and keeps nothing."""
    words = WORDS if model.copies else None
    every = decode_all(model, SOURCES, how, words=words, stepping=stepping)
    for place, found in enumerate(every):
        plain = Rereading(model, SOURCES[place], None if words is None else words[place])
        score = partial(plain.score, coverage_penalty=how.coverage_penalty)
        longest = how.longest_output(len(SOURCES[place]))
        given = cache(plain.next_log_probs), plain.size, how.beam, longest, score
        expected, finished = plain_beam(*given, n_best=how.n_best)
        assert [one.tokens for one in found] == expected
        assert [one.finished for one in found] == [finished] * len(expected)
        assert [one.score for one in found] == pytest.approx([score(tokens, finished) for tokens in expected], abs=1e-4)


@pytest.mark.spread(3)
@each_kind
@pytest.mark.parametrize("beam", [1, 2, pytest.param(5, marks=pytest.mark.long)])
def test_beams_find_what_a_plain_beam_finds_that_shares_and_keeps_nothing(name: str, beam: int) -> None:
    check_against_plain(model_of(name), Decoding(beam=beam, n_best=beam, longest_factor=0.0, longest_extra=6))


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", [KINDS[0], "recurrent-dot-feed", *COPYING, "ensemble", "copying-ensemble"])
@pytest.mark.parametrize("longest", [0, 1, 4])
@pytest.mark.parametrize("coverage_penalty", [0.0, 0.3])
def test_so_they_do_with_limits_attention_copies_and_ensembles(
    name: str, longest: int, coverage_penalty: float
) -> None:
    limits = {"longest_factor": 0.0, "longest_extra": longest}
    how = Decoding(beam=3, n_best=3, coverage_penalty=coverage_penalty, **limits)  # type: ignore[arg-type]
    check_against_plain(model_of(name), how)


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", [KINDS[0], "recurrent-dot-feed", "copying-transformer", "ensemble"])
@pytest.mark.parametrize("longest", [0, 4])
def test_so_they_do_in_shapes_that_are_filled_up(name: str, longest: int) -> None:
    how = Decoding(beam=3, n_best=3, longest_factor=0.0, longest_extra=longest)
    check_against_plain(model_of(name), how, CapturedStepping(CPU, None, every=2))


@pytest.mark.spread(3)
@each_kind
def test_looking_shows_a_row_for_each_hypothesis_and_changes_nothing(name: str) -> None:
    model, how = model_of(name), Decoding(beam=3, n_best=3, longest_factor=1.0, longest_extra=2)
    usual = decode(model, padded_sources(SOURCES), how)
    with record(model) as seen:
        watched = decode(model, padded_sources(SOURCES), how)
    assert [[one.tokens for one in row] for row in watched] == [[one.tokens for one in row] for row in usual]
    for tap in model.cross_taps:
        assert [len(weights) for weights in seen[tap]] == [len(rows) for rows in seen["decoder.output"]]
        # There is one hypothesis to begin with.
        assert [len(weights) for weights in seen[tap][:2]] == [len(SOURCES), 3 * len(SOURCES)]


@pytest.mark.spread(3)
@each_kind
def test_prefixes_read_at_once_are_those_read_token_by_token(name: str) -> None:
    model = model_of(name)
    how = Decoding(beam=3, n_best=3, longest_factor=0.0, longest_extra=6)
    if model.cross_taps:
        how = how.model_copy(update={"coverage_penalty": 0.3})
    prefixes = [[5, 6, 7], [8, 8, 8, 8], [4, 5, 6], [7, 6, 7], [8, 4, 4, 5], [5, 5, 5]]
    at_once = decode_all(model, SOURCES, how, prefixes=prefixes)
    # One source without a prefix in the batch, and nothing is forced in all searches.
    one_by_one = decode_all(model, [*SOURCES, [6]], how, prefixes=[*prefixes, []])[:-1]
    assert [[one.tokens for one in row] for row in at_once] == [[one.tokens for one in row] for row in one_by_one]
    scores = [one.score for row in one_by_one for one in row]
    assert [one.score for row in at_once for one in row] == pytest.approx(scores, abs=1e-5)


def test_a_prefix_takes_two_steps_however_long_it_is() -> None:
    model = TableGenerator(random_table(1, 7))
    how = Decoding(beam=2, longest_factor=0.0, longest_extra=5)
    decode_all(model, [[4]], how, prefixes=[[4, 5, 6, 4, 5]])
    assert model.rows_advanced == [1, 1, 2]  # BEGIN; all of the prefix but its end; its end in both places


def test_a_prefix_that_the_model_thinks_impossible_is_written_as_far_as_it_is_possible() -> None:
    table = random_table(1, 7)
    table[..., 6] = -torch.inf
    how = Decoding(beam=2, longest_factor=0.0, longest_extra=5)
    [[hypothesis]] = decode_all(TableGenerator(table), [[4]], how, prefixes=[[4, 6, 5]])
    assert (hypothesis.tokens, hypothesis.finished) == ((4,), False)


@given(st.integers(0, 999), st.integers(0, 3 * RUN), st.integers(1, 8))
def test_the_likeliest_are_those_of_topk(seed: int, rest: int, count: int) -> None:
    numbers = torch.randn(2, 3, 4 * count * RUN + rest - RUN, generator=torch.Generator().manual_seed(seed)).double()
    numbers[numbers > 2.5] = -torch.inf
    expected: tuple[Tensor, Tensor] = numbers.topk(count)
    best, tokens = likeliest(numbers, count)
    assert torch.equal(best, expected[0])
    assert torch.equal(numbers.gather(-1, tokens), best)
    assert all(len(set(row)) == count for row in tokens.flatten(0, 1).tolist())


@given(st.integers(0, 999), st.integers(1, 6), st.integers(2, 9), st.booleans())
def test_a_row_that_hypotheses_share_is_as_good_as_one_for_each(seed: int, beam: int, size: int, ties: bool) -> None:
    torch.manual_seed(seed)
    log_probs = torch.randn(3, 1, size, dtype=torch.float64)
    log_probs = (log_probs.round() if ties else log_probs).log_softmax(-1)
    totals = torch.full((3, beam), -torch.inf, dtype=torch.float64)
    totals[:, 0], last = 0.0, torch.tensor([False, True, False])
    found, expected = (
        Likeliest().choose(rows, totals, 0, last) for rows in (log_probs, log_probs.repeat_interleave(beam, 1))
    )
    for one, other in zip(vars(found).values(), vars(expected).values(), strict=True):
        assert torch.equal(one, other)
