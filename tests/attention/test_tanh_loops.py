"""Our own loop for the scores of additive attention on a CPU follows the definition."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.attention import tanh_loops
from regard.attention.tanh_energy import _has_loop, tanh_energy
from regard.attention.tanh_loops import FAR, energies

ROUNDING = 5e-7
"""So far each tanh may be from the true one, in float32."""


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    energies(torch.zeros(1, 1, 1), torch.zeros(1, 1, 1), torch.zeros(1))


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def definition(query: Tensor, key: Tensor, energy: Tensor) -> Tensor:
    return (query.double().unsqueeze(-2) + key.double().unsqueeze(-3)).tanh() @ energy.double()


SIZES = st.integers(0, 5)
WIDTHS = st.sampled_from([1, 2, 7, 16, 33, 64])


@given(SIZES, SIZES, SIZES, WIDTHS, st.sampled_from([0.01, 1.0, 10.0]), st.integers(0, 999))
def test_scores_are_those_of_the_definition(
    batch: int, queries: int, keys: int, width: int, scale: float, seed: int
) -> None:
    query, key = scale * random(batch, queries, width, seed=seed), scale * random(batch, keys, width, seed=seed + 1)
    energy = random(width, seed=seed + 2)
    found = energies(query, key, energy)
    assert found.shape == (batch, queries, keys)
    off = width * ROUNDING * energy.abs().max()
    torch.testing.assert_close(found.double(), definition(query, key, energy), rtol=0, atol=float(off))


@given(st.floats(-30, 30, width=32))
def test_tanh_is_right_to_the_last_digits_near_zero_too(number: float) -> None:
    found = energies(torch.full((1, 1, 1), number), torch.zeros(1, 1, 1), torch.ones(1)).double()
    expected = torch.tensor(number, dtype=torch.float64).tanh().view(1, 1, 1)
    torch.testing.assert_close(found, expected, rtol=ROUNDING, atol=1e-40)
    assert found.abs() <= 1


@pytest.mark.parametrize(("number", "expected"), [(torch.inf, 1.0), (-torch.inf, -1.0), (3e38, 1.0), (2 * FAR, 1.0)])
def test_far_out_it_is_one(number: float, expected: float) -> None:
    found = energies(torch.full((1, 1, 16), number), torch.zeros(1, 1, 16), torch.full((16,), 1 / 16))
    assert found.item() == pytest.approx(expected, abs=ROUNDING)


def test_what_is_no_number_stays_none_and_spoils_nothing_else() -> None:
    query, key, energy = random(2, 3, 20), random(2, 4, 20, seed=1), random(20, seed=2)
    expected = energies(query, key, energy)
    query[1, 2, 17], key[0, 1, 3] = torch.nan, torch.nan
    found = energies(query, key, energy)
    spoiled = torch.zeros(2, 3, 4, dtype=torch.bool)
    spoiled[1, 2], spoiled[0, :, 1] = True, True
    assert torch.equal(found.isnan(), spoiled)
    assert torch.equal(found[~spoiled], expected[~spoiled])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ((2, 3, 2, 4), (3, 5, 4)),
        ((2, 4), (6, 5, 4)),
        ((2, 1, 1, 4), (2, 3, 5, 4)),
        ((1, 4), (5, 4)),
        ((0, 2, 4), (4, 4)),
        ((3, 0, 4), (3, 5, 4)),
        ((3, 2, 4), (3, 0, 4)),
    ],
)
def test_steps_of_decoding_are_left_to_it_however_they_are_broadcast(
    query: tuple[int, ...], key: tuple[int, ...], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = random(*query).to(dtype), random(*key, seed=1).to(dtype), random(4, seed=2)
    expected, called = definition(*given), []
    monkeypatch.setattr(tanh_loops, "energies", lambda *each: called.append(each) or energies(*each))
    found = tanh_energy(*given)
    assert called
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    off = 1e-6 if dtype == torch.float32 else 0.02
    torch.testing.assert_close(found.double(), expected, rtol=off, atol=off)


def test_how_queries_and_keys_lie_in_memory_changes_nothing() -> None:
    query, key, energy = random(2, 4, 3).mT, random(2, 5, 8, seed=1)[..., ::2], random(8, seed=2)[::2]
    expected = energies(query.contiguous(), key.contiguous(), energy.contiguous())
    assert torch.equal(energies(query, key, energy), expected)


def test_what_it_does_not_know_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Tensor) -> Tensor:
        raise AssertionError("not for this loop")

    monkeypatch.setattr(tanh_loops, "energies", refuse)
    query, key, energy = random(2, 3, 4), random(2, 5, 4, seed=1), random(4, seed=2)
    heads = tanh_energy(query, key, random(2, 4, seed=2))
    assert heads.shape == (2, 3, 5)
    assert tanh_energy(query.double(), key.double(), energy.double()).dtype == torch.float64
    assert _has_loop(query, key, energy)
    for others in ((query[..., :1], key, energy), (query, key[..., :3], energy), (query, key, energy[:3])):
        assert not _has_loop(*others), "widths that differ"
    with torch.enable_grad():
        torch.testing.assert_close(tanh_energy(query, key, energy).double(), definition(query, key, energy))
