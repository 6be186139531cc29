"""Steps in two kernels find what the same steps find operation by operation."""

import pytest
import torch
from decoding_toys import SmallGenerator, TableGenerator, alternating_table, random_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from triton_device import DEVICE, fewer, needs_triton

from regard.data.batch import Padded
from regard.decode import Hypothesis, decode
from regard.decode import search as searching
from regard.decode.fused import fits
from regard.errors import ModelError
from regard.kernels.picking import COUNT
from regard.models import Generator
from regard.recipe import Decoding
from regard.tokens.vocabulary import BEGIN, END, PAD

pytest.importorskip("triton")
pytestmark = needs_triton
# Each beam and each rank has kernels of its own, which take a second or more to compile.
few = settings(max_examples=fewer(2, 12), suppress_health_check=[HealthCheck.function_scoped_fixture])
SOURCES = Padded.of([[*source, END] for source in ([4, 5, 6, 4], [], [6, 6])])


def both(monkeypatch: pytest.MonkeyPatch, model: Generator, how: Decoding) -> tuple[list[list[Hypothesis]], ...]:
    """What is found with the kernels, and without them."""
    found = []
    for fused in (True, False):
        monkeypatch.setattr(
            searching, "is_fused", lambda searches, logits, fused=fused: fused and fits(searches, logits.shape[-1])
        )
        found.append(decode(model.to(DEVICE), SOURCES.to(DEVICE), how))
    return tuple(found)


def equal(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[one.tokens for one in row] for row in found] == [[one.tokens for one in row] for row in expected]
    assert [[one.finished for one in row] for row in found] == [[one.finished for one in row] for row in expected]
    for row, other in zip(found, expected, strict=True):
        assert [one.score for one in row] == pytest.approx([one.score for one in other], rel=1e-5)
        assert [one.log_prob for one in row] == pytest.approx([one.log_prob for one in other], rel=1e-5)


@few
@given(
    seed=st.integers(0, 10_000),
    size=st.sampled_from([6, 9, 31]),
    beam=st.sampled_from([1, 2, 3, 5, COUNT - 1]),
    rank=st.integers(1, 4),
    longest=st.integers(1, 5),
    least=st.integers(0, 2),
    penalty=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_searches_find_the_same(
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    size: int,
    beam: int,
    rank: int,
    longest: int,
    least: int,
    penalty: float,
) -> None:
    limits = {"longest_factor": 0.5, "longest_extra": longest, "least": min(least, longest), "length_penalty": penalty}
    how = Decoding.model_validate({"beam": beam, "n_best": min(rank, beam), **limits})
    equal(*both(monkeypatch, TableGenerator(random_table(seed, size)), how))


@pytest.mark.long
@few
@given(seed=st.integers(0, 10_000), beam=st.sampled_from(fewer([3], [1, 4])))
def test_what_is_longer_than_a_piece_of_it_moves_too(monkeypatch: pytest.MonkeyPatch, seed: int, beam: int) -> None:
    torch.manual_seed(seed)
    how = Decoding(beam=beam, n_best=beam, longest_factor=0.0, longest_extra=fewer(3, 5), least=3)
    monkeypatch.setattr("regard.kernels.cuda_beam.POSITIONS", 2)
    equal(*both(monkeypatch, SmallGenerator(31), how))


@pytest.mark.long
@pytest.mark.parametrize("n_best", fewer([3], [1, 3]))
def test_a_search_ends_when_as_many_have_finished_as_the_beam_has_places(
    monkeypatch: pytest.MonkeyPatch, n_best: int
) -> None:
    for found in both(monkeypatch, TableGenerator(alternating_table()), Decoding(beam=3, n_best=n_best)):
        assert [[one.tokens for one in row] for row in found] == [[(4, 5), (4,), ()][:n_best]] * 3


@pytest.mark.parametrize("beam", fewer([2], [2, 4]))
def test_what_the_model_makes_of_an_empty_place_counts_for_nothing(monkeypatch: pytest.MonkeyPatch, beam: int) -> None:
    table = torch.full((1, 6, 6, 6), -torch.inf)
    table[0, :, BEGIN, 5] = table[0, :, 5, END] = 0.0
    for found in both(monkeypatch, TableGenerator(table), Decoding(beam=beam)):
        assert [[(one.tokens, one.log_prob) for one in row] for row in found] == [[((5,), 0.0)]] * 3


def test_what_is_no_number_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(1, 9)
    table[..., 5] = torch.nan
    for beam in fewer((3,), (1, 3)):
        with pytest.raises(ModelError, match="is NaN") as fused:
            both(monkeypatch, TableGenerator(table), Decoding(beam=beam))
        monkeypatch.setattr(searching, "is_fused", lambda searches, logits: False)
        with pytest.raises(ModelError) as plain:
            decode(TableGenerator(table).to(DEVICE), SOURCES.to(DEVICE), Decoding(beam=beam))
        assert str(fused.value) == str(plain.value)


@pytest.mark.spread(2)
@pytest.mark.parametrize("size", fewer([3, 1030], [3, 5, 1000, 1024, 2500]))
@pytest.mark.parametrize("count", fewer([3], [1, 3, COUNT]))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_likeliest_of_logits(size: int, count: int, dtype: torch.dtype) -> None:
    from regard.kernels.cuda_beam import likeliest

    count = min(count, size)
    # Rounded, so that many are equal: the first of equal ones comes first.
    logits = (torch.randn(3, 2, size) * 4).round().to(DEVICE, dtype)
    logits[0, 0] = -torch.inf
    logits[0, 0, size - 1] = 2.0
    logits[0, 1, size // 2] = torch.nan
    for forbidden in ((), (PAD, BEGIN), (PAD, BEGIN, END)):
        best, tokens = likeliest(logits, count, forbidden)
        expected = log_probs_without(logits, forbidden)
        values, order = expected.sort(dim=-1, descending=True, stable=True)
        assert best.dtype == torch.float32
        torch.testing.assert_close(best, values[..., :count], rtol=1e-5, atol=1e-5, equal_nan=True)
        clear = values[..., :count].isfinite()
        assert torch.equal(tokens[clear], order[..., :count][clear])
        assert ((tokens >= 0) & (tokens < size)).all()


def log_probs_without(logits: Tensor, forbidden: tuple[int, ...]) -> Tensor:
    log_probs = logits.float().log_softmax(-1)
    broken = log_probs.isnan()
    for token in forbidden:
        log_probs[..., token : token + 1] = -torch.inf
    return log_probs.masked_fill(broken, torch.nan)
