"""Our own loops over rows as long as a vocabulary: the numbers of torch, faster."""

import pytest
import torch
from decoding_toys import SmallGenerator, decoding_by
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.decode import decode_all
from regard.decode.candidates import likeliest
from regard.kernels import cpu_candidates
from regard.kernels.cpu_candidates import LANES, highest, likeliest_, log_softmax_

SIZES = st.sampled_from([1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES + 7])


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    highest(log_softmax_(torch.zeros(1, 2)), 1)
    likeliest_(torch.zeros(1, 2), 1, ())


@given(SIZES, st.floats(0.0, 1e3), st.floats(-1e4, 1e4), st.integers(0, 999))
def test_log_softmax_is_that_of_float64(size: int, spread: float, level: float, seed: int) -> None:
    logits = torch.randn(3, size, generator=torch.Generator().manual_seed(seed)) * spread + level
    expected = logits.double().log_softmax(-1)
    given = logits.clone()
    found = log_softmax_(given)
    assert found is given
    rounding = 1e-6 * (4 + logits.abs().amax())
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=float(rounding))


@given(SIZES, st.integers(1, 7), st.integers(0, 999))
def test_the_highest_are_those_of_topk(size: int, count: int, seed: int) -> None:
    numbers = torch.randn(2, 3, size, generator=torch.Generator().manual_seed(seed))
    expected, places = numbers.topk(min(count, size))
    best, found = highest(numbers, min(count, size))
    torch.testing.assert_close(best, expected, rtol=0, atol=0)
    assert torch.equal(found, places)


@given(
    SIZES.filter(lambda size: size > 8),
    st.integers(1, 6),
    st.sets(st.integers(0, 8)),
    st.sampled_from([0.0, 9.0, 300.0]),
    st.integers(0, 999),
)
def test_the_likeliest_are_the_highest_of_those_that_are_allowed(
    size: int, count: int, forbidden: set[int], above: float, seed: int
) -> None:
    logits = torch.randn(2, 3, size, generator=torch.Generator().manual_seed(seed)) * 3
    logits[0, :, list(forbidden)] += above  # so that they are what counts for the others
    expected = logits.double().log_softmax(-1)
    expected[..., list(forbidden)] = -torch.inf
    most = min(count, size - len(forbidden))
    best, places = likeliest_(logits, most, tuple(forbidden))
    torch.testing.assert_close(best.double(), expected.topk(most).values, rtol=1e-5, atol=1e-5)
    assert torch.equal(places, expected.topk(most).indices)


@pytest.mark.parametrize("place", [0, LANES - 1, 2 * LANES, 2 * LANES + 5])
@pytest.mark.parametrize("forbidden", [(), (0, 1)])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_none_is_likeliest_beside_what_is_no_number(place: int, forbidden: tuple[int, ...], bad: float) -> None:
    logits = torch.randn(2, 2 * LANES + 6)
    logits[1, place] = bad
    best, _ = likeliest_(logits, 3, forbidden)
    assert best[1].isnan().all()
    assert best[0].isfinite().all()


@given(SIZES, st.integers(1, 7), st.integers(1, 3), st.integers(0, 999))
def test_of_equal_numbers_the_first_come_first(size: int, count: int, kinds: int, seed: int) -> None:
    count = min(count, size)
    numbers = torch.randint(kinds, (3, size), generator=torch.Generator().manual_seed(seed)).float()
    expected = numbers.argsort(dim=1, descending=True, stable=True)[:, :count]
    assert torch.equal(highest(numbers, count)[1], expected)
    assert torch.equal(likeliest_(numbers, count, ())[1], expected)


@pytest.mark.parametrize("place", [0, LANES - 1, 2 * LANES, 2 * LANES + 5])
def test_what_is_no_number_counts_as_the_highest(place: int) -> None:
    numbers = torch.randn(2, 2 * LANES + 6)
    numbers[1, place] = torch.nan
    best, places = highest(numbers, 3)
    assert best[1, 0].isnan()
    assert places[1, 0] == place
    assert best[0].isfinite().all()
    assert log_softmax_(numbers)[1].isnan().all()
    assert numbers[0].isfinite().all()


def test_forbidden_tokens_stay_forbidden() -> None:
    numbers = torch.full((1, LANES + 1), -torch.inf)
    numbers[0, [3, LANES]] = torch.tensor([1.0, 2.0])
    again = numbers.clone()
    best, places = highest(log_softmax_(numbers), 4)
    expected = [*torch.tensor([2.0, 1.0]).log_softmax(-1), -torch.inf, -torch.inf]
    torch.testing.assert_close(best[0], torch.tensor(expected))
    assert places[0, :2].tolist() == [LANES, 3]
    best, places = likeliest_(again, 4, (0, LANES))
    torch.testing.assert_close(best[0], torch.tensor([expected[1], *[-torch.inf] * 3]))
    assert places[0, 0] == 3


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_outputs_are_those_of_the_plain_search(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    model = SmallGenerator(3 * LANES + 7)
    sources = [[4 + (7 * place + row) % 200 for place in range(row % 5)] for row in range(120)]
    how = decoding_by(method, beam=4, n_best=1, longest_factor=1.0, longest_extra=4, no_repeat=2)
    quick = [best for [best] in decode_all(model, sources, how)]
    used = set()

    def plainly(logits: Tensor, count: int, forbidden: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        used.add("likeliest")
        log_probs = logits.log_softmax(-1)
        log_probs[..., forbidden] = -torch.inf
        best, places = log_probs.topk(count)
        return best, places

    monkeypatch.setattr(cpu_candidates, "likeliest_", plainly)
    monkeypatch.setattr(cpu_candidates, "log_softmax_", lambda logits: used.add("softmax") or logits.log_softmax(-1))
    monkeypatch.setattr(cpu_candidates, "highest", lambda numbers, count: numbers.topk(count))
    plain = [best for [best] in decode_all(model, sources, how)]
    assert used == ({"softmax"} if method == "sample" else {"likeliest", "softmax"})
    same = [one.tokens == other.tokens for one, other in zip(quick, plain, strict=True)]
    assert sum(same) >= 0.99 * len(same)
    for one, other, alike in zip(quick, plain, same, strict=True):
        assert not alike or one.log_prob == pytest.approx(other.log_prob, abs=1e-5)


@pytest.mark.parametrize("numbers", [torch.randn(2, 4, 300).double(), torch.randn(4, 300, 2).mT])
def test_what_the_loops_do_not_take_is_found_without_them(numbers: Tensor) -> None:
    best, places = likeliest(numbers, 3)
    expected = numbers.topk(3)
    assert torch.equal(best, expected.values)
    assert torch.equal(places, expected.indices)
