"""What makes decoding fast changes nothing: real models against a search that reads everything anew at every step."""

from collections.abc import Callable
from functools import cache

import pytest
import torch
from decoding_toys import TableGenerator, plain_beam, random_table
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import Tensor

from regard.data.batch import Padded
from regard.decode import decode_all
from regard.decode.choosing import RUN, likeliest
from regard.models import Generator, build_model
from regard.recipe import Decoding
from regard.tap import record
from regard.tokens.vocabulary import BEGIN, END

SOURCES = [[4, 5, 6, 4], [], [6, 6], [5, 4, 4], [6], [4, 4, 5, 5, 6]]
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
each_kind = pytest.mark.parametrize("name", KINDS)


def model_of(name: str) -> Generator:
    torch.manual_seed(len(name))
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # further from uniform, so that rounding does not decide
    return model


def rereading(model: Generator, source: list[int]) -> Callable[[tuple[int, ...]], list[float]]:
    """How likely each token is after what is written, by one pass over all of it, alone in its batch."""

    @cache
    def next_log_probs(written: tuple[int, ...]) -> list[float]:
        state = model.start(Padded.of([[*source, END]]), len(written) + 1)
        features, _ = model.advance(torch.tensor([[BEGIN, *written]]), state)
        log_probs: list[float] = model.readout.logits(features[0, -1]).log_softmax(-1).tolist()
        return log_probs

    return torch.no_grad()(next_log_probs)


@each_kind
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_beams_find_what_a_plain_beam_finds_that_shares_and_keeps_nothing(name: str, beam: int) -> None:
    model = model_of(name)
    how = Decoding(beam=beam, n_best=beam, longest_factor=0.0, longest_extra=6)
    for source, found in zip(SOURCES, decode_all(model, SOURCES, how), strict=True):
        next_log_probs = rereading(model, source)

        def score(tokens: tuple[int, ...], finished: bool, next_log_probs: Callable = next_log_probs) -> float:
            whole = (*tokens, END) if finished else tokens
            total = sum(next_log_probs(whole[:place])[token] for place, token in enumerate(whole))
            return total / len(whole)

        expected, finished = plain_beam(next_log_probs, TARGET_SIZE, beam, 6, score, n_best=beam)
        assert [one.tokens for one in found] == expected
        assert [one.score for one in found] == pytest.approx([score(tokens, finished) for tokens in expected], abs=1e-4)


@each_kind
def test_looking_shows_a_row_for_each_hypothesis_and_changes_nothing(name: str) -> None:
    model, how = model_of(name), Decoding(beam=3, n_best=3, longest_factor=1.0, longest_extra=2)
    usual = decode_all(model, SOURCES, how)
    with record(model) as seen:
        watched = decode_all(model, SOURCES, how)
    assert [[one.tokens for one in row] for row in watched] == [[one.tokens for one in row] for row in usual]
    for tap in model.cross_taps:
        assert [len(weights) for weights in seen[tap]] == [len(rows) for rows in seen["decoder.output"]]
        # There is one hypothesis to begin with.
        assert [len(weights) for weights in seen[tap][:2]] == [len(SOURCES), 3 * len(SOURCES)]


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
