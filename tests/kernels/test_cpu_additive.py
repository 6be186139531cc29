"""Our own loop for the scores of additive attention on a CPU follows the definition."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.attention.additive import tanh_energy
from regard.kernels import cpu_additive, pick
from regard.kernels.cpu_additive import FAR, energies

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
def test_far_out_it_is_one_but_for_rounding(number: float, expected: float) -> None:
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


SHAPES = [
    ((2, 3, 2, 4), (3, 5, 4)),
    ((2, 4), (6, 5, 4)),
    ((2, 1, 1, 4), (2, 3, 5, 4)),
    ((1, 4), (5, 4)),
    ((0, 2, 4), (4, 4)),
    ((3, 0, 4), (3, 5, 4)),
    ((3, 2, 4), (3, 0, 4)),
]
FORMATS = [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("of_energy", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(("query", "key"), SHAPES)
def test_steps_of_decoding_are_left_to_it_however_they_are_broadcast(
    query: tuple[int, ...],
    key: tuple[int, ...],
    dtype: torch.dtype,
    of_energy: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensors = random(*query).to(dtype), random(*key, seed=1).to(dtype), random(4, seed=2).to(of_energy)
    expected, called = definition(*tensors), []
    monkeypatch.setattr(cpu_additive, "energies", lambda *each: called.append(each) or energies(*each))
    found = tanh_energy(*tensors)
    assert called
    assert (found.dtype, found.shape) == (dtype, expected.shape)
    off = 1e-6 if dtype == torch.float32 else 0.02
    torch.testing.assert_close(found.double(), expected, rtol=off, atol=off)


def test_how_queries_and_keys_lie_in_memory_changes_nothing() -> None:
    query, key, energy = random(2, 4, 3).mT, random(2, 5, 8, seed=1)[..., ::2], random(8, seed=2)[::2]
    expected = energies(query.contiguous(), key.contiguous(), energy.contiguous())
    assert torch.equal(energies(query, key, energy), expected)


QUERY, KEY, ENERGY = random(2, 3, 4), random(2, 5, 4, seed=1), random(4, seed=2)


@pytest.fixture
def _refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Tensor) -> Tensor:
        raise AssertionError("not for this loop")

    monkeypatch.setattr(cpu_additive, "energies", refuse)


@pytest.mark.usefixtures("_refusing")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_formats_are_left_to_torch(dtype: torch.dtype) -> None:
    found = tanh_energy(QUERY.to(dtype), KEY.to(dtype), ENERGY.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), definition(QUERY, KEY, ENERGY), rtol=0.01, atol=0.01)


@pytest.mark.usefixtures("_refusing")
def test_a_vector_for_each_head_is_left_to_torch() -> None:
    energy = random(2, 4, seed=2)
    expected = torch.stack([definition(QUERY[head], KEY[head], energy[head]) for head in range(2)])
    torch.testing.assert_close(tanh_energy(QUERY, KEY, energy).double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("_refusing")
def test_what_gradients_are_asked_of_is_left_to_torch() -> None:
    with torch.enable_grad():
        found = tanh_energy(QUERY.clone().requires_grad_(), KEY, ENERGY)
    assert found.requires_grad
    torch.testing.assert_close(found.double(), definition(QUERY, KEY, ENERGY), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("_refusing")
@pytest.mark.parametrize("asked", [(torch.compiler, "is_compiling"), (torch.jit, "is_tracing")])
def test_what_is_compiled_or_traced_is_left_to_torch(
    asked: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*asked, lambda: True)
    found = tanh_energy(QUERY, KEY, ENERGY)
    torch.testing.assert_close(found.double(), definition(QUERY, KEY, ENERGY), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "tensors",
    [
        (QUERY[..., :1], KEY, ENERGY),
        (QUERY, KEY[..., :3], ENERGY),
        (QUERY, KEY, ENERGY[:3]),
        (QUERY[0, 0], KEY, ENERGY),
        (QUERY, KEY[0, 0], ENERGY),
        (QUERY, KEY.bfloat16(), ENERGY),
        (QUERY, KEY, ENERGY.long()),
        (QUERY.to("meta"), KEY, ENERGY),
        (QUERY, KEY.to("meta"), ENERGY),
        (QUERY, KEY, ENERGY.to("meta")),
    ],
)
def test_what_torch_would_convert_broadcast_or_refuse_is_left_to_it(tensors: tuple[Tensor, Tensor, Tensor]) -> None:
    assert pick("additive_scores", QUERY, KEY, nn.Parameter(ENERGY)) is energies
    assert pick("additive_scores", *tensors) is None


def test_what_only_pretends_to_have_memory_is_left_to_torch() -> None:
    with FakeTensorMode():
        pretended = torch.empty(2, 3, 4), torch.empty(2, 5, 4), torch.empty(4)
    for place, one in enumerate(pretended):
        tensors = [QUERY, KEY, ENERGY]
        tensors[place] = one
        assert pick("additive_scores", *tensors) is None
