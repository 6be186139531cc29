"""Products with what is mostly zero: those of the whole matrix, of what is not zero alone."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE
from torch import Tensor, nn
from torch.nn import functional as F

from regard.decode import decode_all
from regard.decode.cpu_weights import laid_out
from regard.decode.int8 import in_int8
from regard.decode.packed_weights import PackedWeight, can_pack
from regard.decode.sparse_weights import SparseWeight
from regard.kernels.cpu_sparse import FEW, FIRST, SHARE, sparse_linear
from regard.models import Generator, build_model
from regard.nn.feedforward import FeedForward
from regard.recipe import Decoding, TransformerModel
from regard.tap import intervene

WIDTHS = st.sampled_from([1, 2, 3, 7, 15, 16, 17, 64, 69])
needs_packing = pytest.mark.skipif(not can_pack(torch.float32), reason="this build of torch has no oneDNN")


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    sparse_linear(torch.zeros(1, 2), torch.zeros(2, 2), None)


def random(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def mostly_zero(*shape: int, share: float, seed: int = 1) -> Tensor:
    """Numbers of which so large a share is not zero, about."""
    return random(*shape, seed=seed) * (random(*shape, seed=seed + 1).sigmoid() < share)


@needs_packing
@given(
    st.lists(st.integers(0, 5), max_size=3), WIDTHS, WIDTHS, st.booleans(), st.sampled_from([0, 0.1, 0.5, 1]), st.data()
)
def test_a_product_is_that_of_the_matrix_but_for_rounding(
    leading: list[int], inputs: int, outputs: int, biased: bool, share: float, data: st.DataObject
) -> None:
    seed = data.draw(st.integers(0, 999))
    features, weight = mostly_zero(*leading, inputs, share=share, seed=seed), random(outputs, inputs)
    bias = random(outputs, seed=seed + 2) if biased else None
    found = F.linear(features, SparseWeight.of(weight), bias)
    assert type(found) is Tensor
    exact, added = (features.double(), weight.double()), bias.double() if biased else None
    largest = F.linear(exact[0].abs(), exact[1].abs(), added.abs() if biased else None)
    rounding = (inputs + 2) * torch.finfo(torch.float32).eps
    assert found.shape == (*leading, outputs)
    assert ((found.double() - F.linear(*exact, added)).abs() <= rounding * largest).all()


def test_it_is_done_as_long_as_few_are_not_zero() -> None:
    inputs, rows = 10 * SHARE, 3 * FIRST
    columns, bias = random(inputs, 4), random(4)
    for active, done in ((0, True), (inputs // SHARE, True), (2 * inputs // SHARE, False), (inputs, False)):
        features = torch.zeros(rows, inputs)
        features[:, :active] = random(rows, active)
        found = sparse_linear(features, columns, bias)
        assert (found is not None) == done
        if found is not None:
            torch.testing.assert_close(found, features @ columns + bias)
    # A row that has many among others that have few does no harm.
    features = torch.zeros(rows, inputs)
    features[1] = 1.0
    assert sparse_linear(features, columns, bias) is not None


def test_with_several_threads_only_what_is_sooner_done_by_one() -> None:
    inputs, threads = 100 * SHARE, torch.get_num_threads()
    columns, few, many = random(inputs, 3), torch.zeros(FEW, inputs), torch.zeros(2 * FEW, inputs)
    for features in (few, many):
        features[:, : inputs // SHARE] = 1.0
    try:
        torch.set_num_threads(1)
        assert sparse_linear(many, columns, None) is not None
        torch.set_num_threads(2)
        assert sparse_linear(few, columns, None) is not None
        assert sparse_linear(many, columns, None) is None
        many[:, inputs // SHARE // 2 :] = 0.0
        assert sparse_linear(many, columns, None) is not None
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "lying",
    [
        lambda features: features.t().contiguous().t(),
        lambda features: torch.cat([features, features + 1], 1)[:, :20],
        lambda features: torch.stack([features, features + 1], 2)[..., 0],
        lambda features: features[:1].expand(8, 20),
        lambda features: features.view(2, 4, 20).transpose(0, 1),
    ],
)
def test_how_numbers_lie_in_memory_changes_nothing(lying: Callable[[Tensor], Tensor]) -> None:
    features, columns, bias = lying(mostly_zero(8, 20, share=0.1)), random(20, 3), random(6)[::2]
    found = sparse_linear(features, columns, bias)
    assert found is not None
    torch.testing.assert_close(found, features @ columns + bias)


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 17])
def test_what_is_no_number_or_infinite_stays_so(number: float, place: int) -> None:
    features, columns = torch.zeros(2, 18), torch.ones(18, 3)
    features[1, place] = number
    found = sparse_linear(features, columns, None)
    assert found is not None
    torch.testing.assert_close(found, torch.tensor([[0.0], [number]]).expand(2, 3), equal_nan=True)


def test_matrices_that_are_not_finite_or_of_32_bits_do_not_suit() -> None:
    assert SparseWeight.suits(random(2, 3))
    assert not SparseWeight.suits(random(2, 3).double())
    for number in (torch.nan, torch.inf):
        assert not SparseWeight.suits(torch.tensor([[1.0, number]]))


@needs_packing
def test_where_many_are_not_zero_it_is_multiplied_as_any_other() -> None:
    features, weight, bias = random(3 * FIRST, 64), random(5, 64), random(5)
    assert torch.equal(
        F.linear(features, SparseWeight.of(weight), bias), F.linear(features, PackedWeight.of(weight), bias)
    )


def transformer(activation: str = "relu") -> Generator:
    torch.manual_seed(1)
    settings = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 48, "encoder_layers": 1}
    settings |= {"decoder_layers": 1, "activation": activation}
    return build_model(TransformerModel.model_validate(settings), SOURCE_SIZE, TARGET_SIZE).eval()


def outward(model: nn.Module) -> list[Tensor]:
    return [module.outward.weight for module in model.modules() if isinstance(module, FeedForward)]


@needs_packing
def test_it_is_for_what_relu_leaves() -> None:
    assert [type(matrix) for matrix in outward(laid_out(transformer()))] == [SparseWeight] * 2
    for activation in ("gelu", "swiglu"):
        assert [type(matrix) for matrix in outward(laid_out(transformer(activation)))] == [PackedWeight] * 2
    assert not any(isinstance(matrix, PackedWeight) for matrix in outward(laid_out(in_int8(transformer()))))
    assert [type(matrix) for matrix in outward(laid_out(transformer().bfloat16()))].count(SparseWeight) == 0
    broken = transformer()
    with torch.no_grad():
        broken.encoder.layers[0].feedforward.outward.weight[0, 0] = torch.inf
    assert [type(matrix) for matrix in outward(laid_out(broken))].count(SparseWeight) == 1


@needs_packing
def test_a_model_writes_what_it_writes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sources = transformer(), [[4, 5, 6, 4], [6, 6], [5]]
    how = Decoding(beam=3, longest_factor=1.0, longest_extra=2)
    counts: list[bool] = []

    def counted(*given: Tensor) -> Tensor | None:
        found = sparse_linear(*given)
        counts.append(found is not None)
        return found

    with torch.no_grad():
        for layer in (each for each in model.modules() if isinstance(each, FeedForward)):
            layer.inward.bias -= 1.5  # so that few are active, as they are after training
    monkeypatch.setattr("regard.kernels.cpu_sparse.sparse_linear", counted)
    found = decode_all(model, sources, how)
    assert counts
    assert all(counts)
    monkeypatch.setattr("regard.kernels.cpu_sparse.sparse_linear", lambda *_: None)
    expected = decode_all(model, sources, how)
    assert [row[0].tokens for row in found] == [row[0].tokens for row in expected]
    assert [row[0].score for row in found] == pytest.approx([row[0].score for row in expected], abs=1e-5)


@needs_packing
def test_who_intervenes_changes_what_is_multiplied() -> None:
    model, sources = transformer(), [[4, 5, 6]]
    how = Decoding(beam=1, longest_factor=0.0, longest_extra=3)
    plain = decode_all(model, sources, how)[0][0].score
    with intervene(model, "decoder.layers.0.feedforward.activation", lambda hidden: hidden + 1):
        changed = decode_all(model, sources, how)[0][0].score
    assert changed != pytest.approx(plain, abs=1e-4)
