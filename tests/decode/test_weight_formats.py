"""Matrices that linear maps multiply by in ways of their own: laws of all kinds of them, and models that have them."""

from collections.abc import Callable
from math import prod

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import Tensor, nn
from torch.nn import functional as F

from regard.decode.int8 import Int8Weight, is_exact
from regard.decode.packed_weights import PackedWeight, can_pack
from regard.decode.weight_formats import WeightFormat, with_weights_as
from regard.models import Ensemble, Generator, build_model

needs_exact = pytest.mark.skipif(not is_exact(), reason="this processor does not add such products up exactly")
needs_packing = pytest.mark.skipif(not can_pack(torch.float32), reason="this build of torch has no oneDNN")
each_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Int8Weight, marks=needs_exact),
        pytest.param(PackedWeight, marks=needs_packing),
    ],
)
Kind = type[Int8Weight] | type[PackedWeight]


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    for bias in (None, torch.zeros(2)):
        F.linear(torch.zeros(1, 2), Int8Weight.of(torch.zeros(2, 2)), bias)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@each_kind
@given(st.integers(0, 11), st.integers(1, 12), st.integers(1, 3), st.booleans(), st.integers(0, 999))
def test_some_rows_of_a_matrix_give_some_columns_of_the_product(
    kind: Kind, begin: int, count: int, step: int, biased: bool, seed: int
) -> None:
    end = begin + count  # which may be beyond the last
    features, weight, bias = random(3, 7, seed=seed), kind.of(random(12, 7, seed=seed + 1)), random(12, seed=seed)
    part = weight[begin:end:step]
    assert isinstance(part, kind)
    assert torch.equal(part.full(), weight.full()[begin:end:step])
    expected = F.linear(features, weight, bias if biased else None)[:, begin:end:step]
    found = F.linear(features, part, bias[begin:end:step].contiguous() if biased else None)
    torch.testing.assert_close(found, expected)


@each_kind
def test_no_rows_of_a_matrix_give_no_columns(kind: Kind) -> None:
    part = kind.of(random(12, 7))[5:5]
    assert isinstance(part, kind)
    assert F.linear(random(3, 7), part, torch.zeros(0)).shape == (3, 0)


@each_kind
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 0), (1,), (1, 1, 1)])
@pytest.mark.parametrize("inputs", [1, 4])
@pytest.mark.parametrize("outputs", [1, 3])
def test_nothing_and_next_to_nothing_is_multiplied_too(
    kind: Kind, shape: tuple[int, ...], inputs: int, outputs: int
) -> None:
    features = torch.ones(*shape, inputs)
    found = F.linear(features, kind.of(torch.ones(outputs, inputs)), torch.ones(outputs))
    assert found.shape == (*shape, outputs)
    assert found.numel() == 0 or prod(shape) == 1
    torch.testing.assert_close(found, torch.full((*shape, outputs), inputs + 1.0))


@each_kind
@pytest.mark.parametrize(
    "features",
    [
        lambda: random(7, 6).t(),
        lambda: random(6, 14)[:, ::2],
        lambda: random(6, 15)[:, 3:10],
        lambda: random(1, 7).expand(6, 7),
        lambda: random(6, 1).expand(6, 7),
        lambda: random(3, 7, 2).transpose(1, 2),
        lambda: random(3, 2, 7)[:, ::2],
    ],
)
def test_how_features_lie_in_memory_changes_nothing(kind: Kind, features: Callable[[], Tensor]) -> None:
    weight, bias = kind.of(random(5, 7, seed=2)), random(5)
    torch.testing.assert_close(F.linear(features(), weight, bias), F.linear(features().contiguous(), weight, bias))


@each_kind
def test_how_a_matrix_and_its_bias_lie_in_memory_changes_nothing(kind: Kind) -> None:
    features, weight, bias = random(3, 7), random(7, 5).t(), random(10)[::2]
    expected = F.linear(features, kind.of(weight.contiguous()), bias.contiguous())
    torch.testing.assert_close(F.linear(features, kind.of(weight), bias), expected)


@each_kind
@pytest.mark.parametrize(
    "function",
    [
        lambda matrix: matrix.t(),
        lambda matrix: torch.ones(2, 7) @ matrix.t(),
        lambda matrix: matrix @ torch.ones(7),
        lambda matrix: matrix[torch.tensor([3, 0, 3])],
        lambda matrix: matrix[2],
        lambda matrix: matrix[1:3, 2],
        lambda matrix: matrix.to(torch.float64),
        lambda matrix: matrix.bfloat16(),
        lambda matrix: matrix.clone(),
        lambda matrix: matrix * 2 + matrix,
        lambda matrix: matrix.multiply(2),
        lambda matrix: torch.multiply(matrix, torch.ones(7)),
        lambda matrix: F.embedding(torch.tensor([1, 4]), matrix),
        lambda matrix: F.linear(matrix, torch.ones(3, 7)),
        lambda matrix: F.linear(torch.ones(3, 7), weight=matrix),
        lambda matrix: F.pad(matrix, (0, 0, 0, 2)),
        lambda matrix: torch.cat([matrix, matrix]),
        lambda matrix: matrix.contiguous().sum(),
    ],
)
def test_all_else_is_done_to_the_matrix_it_stands_for(kind: Kind, function: Callable[[Tensor], Tensor]) -> None:
    matrix = kind.of(random(5, 7))
    found = function(matrix)
    assert not isinstance(found, WeightFormat)
    torch.testing.assert_close(found, function(matrix.full()), rtol=0, atol=0, check_stride=False)


@each_kind
def test_it_stays_what_it_is_as_a_parameter_in_the_same_format(kind: Kind) -> None:
    matrix, features = kind.of(random(5, 7)), random(3, 7)
    expected = F.linear(features, matrix)
    for same in (nn.Parameter(matrix, requires_grad=False), matrix.detach(), matrix.to(torch.float32), matrix[:]):
        assert isinstance(same, kind)
        assert (same.shape, same.dtype, same.requires_grad) == ((5, 7), torch.float32, False)
        assert torch.equal(same.full(), matrix.full())
        assert torch.equal(F.linear(features, same), expected)


def model_of(name: str) -> Generator:
    return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()


class Told(WeightFormat):
    """What says nothing but that it has been made."""

    inside: Tensor

    @staticmethod
    def __new__(cls, matrix: Tensor) -> "Told":
        made = Tensor._make_wrapper_subclass(cls, matrix.shape, dtype=matrix.dtype, device=matrix.device)
        made.inside = matrix.detach()
        return made

    def full(self) -> Tensor:
        return self.inside

    def part(self, rows: slice) -> "Told":
        return Told(self.inside[rows])


@pytest.mark.parametrize("name", ["transformer-scaled_dot-relative", "recurrent-additive-feed", "copying-transformer"])
def test_a_copy_has_multipliers_for_all_linear_maps_and_shares_the_rest(name: str) -> None:
    model = model_of(name)
    before = dict(model.named_parameters())
    copy = with_weights_as(model, Told)
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    assert all(after[each] is tensor for each, tensor in before.items())
    mine = {each: tensor for each, tensor in copy.named_parameters() if isinstance(tensor, WeightFormat)}
    linear = {each for each, module in model.named_modules() if isinstance(module, nn.Linear)}
    assert {each.removesuffix(".weight") for each in mine} >= linear
    assert len(mine) == len(linear) + 1  # and that of the readout
    assert all(before[each] is tensor for each, tensor in copy.named_parameters() if each in before.keys() - mine)


def test_a_readout_in_two_places_gets_one_multiplier() -> None:
    members = [model_of("recurrent-additive-feed"), model_of("transformer-scaled_dot-rotary")]
    made: list[Tensor] = []

    def make(matrix: Tensor) -> Tensor:
        made.append(matrix)
        return Told(matrix)

    copy = with_weights_as(Ensemble(members), make)
    assert len({id(matrix) for matrix in made}) == len(made)
    for member, readout in zip(copy.members, copy.readout.members, strict=True):
        assert isinstance(readout.weight, Told)
        assert member.readout.weight is readout.weight
    assert with_weights_as(copy, make) is not copy
    assert not any(isinstance(matrix, Told) for matrix in made)  # those stay what they are
