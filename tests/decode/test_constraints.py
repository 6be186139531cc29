"""What may be written: prefixes, n-grams, limits, special tokens."""

import pytest
import torch
from decoding_toys import TableGenerator, UniformGenerator, decoding_by, plain_log_prob, random_table
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import Padded
from regard.decode import decode
from regard.decode.constraints import Constraints, longest_outputs
from regard.errors import UsageError
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN

SIZE = 7
seeds = st.integers(0, 10_000)
methods = st.sampled_from(["greedy", "beam", "sample"])
written_tokens = st.sampled_from([UNKNOWN, 4, 5, 6])


def source_of(rows: int) -> Padded:
    return Padded.of([[row + 4, END] for row in range(rows)])


@given(seeds, methods, st.lists(st.lists(written_tokens, max_size=4), min_size=1, max_size=4), st.integers(0, 2))
def test_outputs_begin_with_their_prefix(seed: int, method: str, prefixes: list[list[int]], no_repeat: int) -> None:
    model = TableGenerator(random_table(seed, SIZE))
    how = decoding_by(method, longest_extra=6, least=2, no_repeat=no_repeat)
    for row, hypotheses in enumerate(decode(model, source_of(len(prefixes)), how, prefixes=prefixes)):
        for hypothesis in hypotheses:
            assert list(hypothesis.tokens[: len(prefixes[row])]) == prefixes[row]
            expected = plain_log_prob(model, [row + 4, END], hypothesis.tokens, hypothesis.finished)
            assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)


def test_a_prefix_may_be_as_long_as_the_limit() -> None:
    how = Decoding(longest_factor=0.0, longest_extra=3, beam=2)
    [[hypothesis]] = decode(UniformGenerator(SIZE), source_of(1), how, prefixes=[[4, 5, 6]])
    assert hypothesis.tokens == (4, 5, 6)


@given(seeds, methods, st.integers(1, 4), st.integers(1, 4))
def test_no_n_gram_comes_twice(seed: int, method: str, n: int, rows: int) -> None:
    model = TableGenerator(random_table(seed, SIZE, spread=4.0))
    how = decoding_by(method, longest_extra=12, no_repeat=n)
    for hypotheses in decode(model, source_of(rows), how):
        for hypothesis in hypotheses:
            grams = list(zip(*(hypothesis.tokens[place:] for place in range(n)), strict=False))
            assert len(grams) == len(set(grams))


@given(st.data(), st.integers(1, 4), st.integers(0, 4), st.integers(0, 8))
def test_the_rules_forbid_what_a_loop_forbids_and_nothing_else(
    data: st.DataObject, n: int, least: int, length: int
) -> None:
    rows = [[data.draw(st.lists(written_tokens, min_size=length, max_size=length)) for _ in range(2)] for _ in range(2)]
    prefixes = [data.draw(st.lists(written_tokens, max_size=8)) for _ in range(2)]
    how = Decoding(no_repeat=n, least=least)
    log_probs = torch.randn(2, 2, SIZE).log_softmax(-1)
    rules = Constraints.of(source_of(2), how, prefixes, [0, 1], longest_outputs(source_of(2), how))
    allowed = log_probs.clone()
    rules.forbid_(allowed, torch.tensor(rows, dtype=torch.long).reshape(2, 2, length))
    for search in range(2):
        for place in range(2):
            written = rows[search][place]
            grams = {tuple(written[start : start + n]) for start in range(length - n + 1)}
            for token in range(SIZE):
                again = (*written[length - n + 1 :], token) in grams if length >= n else False
                forbidden = token in (PAD, BEGIN) or (token == END and length < least) or again
                if length < len(prefixes[search]):
                    forbidden = token != prefixes[search][length]
                expected = -torch.inf if forbidden else log_probs[search, place, token]
                assert allowed[search, place, token] == expected


@pytest.mark.parametrize(
    ("factor", "extra", "least", "expected"),
    [(2.0, 1, 0, [1, 5, 7]), (0.5, 0, 0, [0, 1, 1]), (1.0, 1, 2, [1, 3, 4])],
)
def test_the_limit_counts_source_tokens_without_end(factor: float, extra: int, least: int, expected: list[int]) -> None:
    source = Padded.of([[END], [4, 5, END], [4, 5, 6]])
    how = Decoding(longest_factor=factor, longest_extra=extra, least=least)
    assert longest_outputs(source, how) == expected


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        (
            [[4, 5, 6, 4]],
            "prefix of example 9: 4 tokens, but this output may have at most 3; "
            "raise longest_factor or longest_extra, or shorten the prefix",
        ),
        (
            [[4, 7]],
            "prefix of example 9: token 7 is outside the model's vocabulary; its tokens are 0 to 6: "
            "encode the prefix with this model's tokenizer",
        ),
        ([[-1]], "prefix of example 9: token -1 at place 0; tokens are 0 or more"),
        (
            [[4, END]],
            "prefix of example 9: END (3) at place 1; leave special tokens out of prefixes",
        ),
        ([[4], [5]], "2 prefixes for 1 sources: give one for each, and an empty one where nothing is forced"),
    ],
)
def test_prefixes_that_cannot_be_forced(prefixes: list[list[int]], message: str) -> None:
    how = Decoding(longest_factor=0.0, longest_extra=3)
    with pytest.raises(UsageError) as error:
        decode(UniformGenerator(SIZE), source_of(1), how, prefixes=prefixes, examples=[9])
    assert str(error.value) == message


@given(
    length=st.integers(0, 4),
    least=st.integers(0, 4),
    no_repeat=st.integers(0, 3),
    forced=st.integers(0, 3),
    seed=st.integers(0, 999),
)
def test_where_rules_are_fixed_the_same_tokens_are_forbidden_everywhere(
    length: int, least: int, no_repeat: int, forced: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    how = Decoding(least=least, no_repeat=no_repeat, longest_factor=0.0, longest_extra=8)
    rules = Constraints.of(source_of(2), how, [[4] * forced, []], range(2), [8, 8])
    written = torch.randint(4, SIZE, (2, 3, length), generator=generator)
    log_probs = torch.zeros(2, 3, SIZE)
    rules.forbid_(log_probs, written)
    expected = torch.zeros(SIZE)
    expected[list(rules.forbidden(length))] = -torch.inf
    assert rules.forbidden(length) == ((PAD, BEGIN, END) if length < least else (PAD, BEGIN))
    if rules.are_fixed(length):
        assert torch.equal(log_probs, expected.expand(2, 3, -1))
    assert rules.are_fixed(length) is (length >= forced and (no_repeat == 0 or length < no_repeat))
