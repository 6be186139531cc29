"""Weights laid out for steps of decoding: other memory, the same numbers."""

from collections.abc import Iterator

import pytest
import torch
from decoding_toys import SmallGenerator, UniformGenerator
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY, every_generator, every_model
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batch import padded_sources
from regard.decode import Hypothesis, decode, decode_all
from regard.decode.cpu_weights import has_matrices, laid_out
from regard.decode.int8 import Int8Weight
from regard.decode.packed_weights import PackedWeight, can_pack
from regard.models import Ensemble, Generator, RecurrentTranslator, build_model
from regard.nn.cells import Cell
from regard.nn.embedding import TokenVectors
from regard.recipe import Decoding
from regard.tap import record
from regard.tokens.vocabulary import BEGIN

SOURCES = [[4, 5, 6, 4], [6, 6], [5]]
WORDS = [[9, 5, 10, 9], [9, 9], [5]]
WIDTHS = st.sampled_from([1, 2, 3, 7, 16, 33, 64, 65])

needs_packing = pytest.mark.skipif(not can_pack(torch.float32), reason="this build of torch has no oneDNN")
each_format = pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(dtype, marks=pytest.mark.skipif(not can_pack(dtype), reason=f"oneDNN has no {dtype} here"))
        for dtype in (torch.float32, torch.bfloat16)
    ],
)


def random(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@each_format
@given(st.lists(st.integers(0, 5), max_size=3), WIDTHS, WIDTHS, st.booleans(), st.integers(0, 999))
def test_a_product_is_that_of_the_matrix_but_for_rounding(
    dtype: torch.dtype, leading: list[int], inputs: int, outputs: int, biased: bool, seed: int
) -> None:
    features, weight = random(*leading, inputs, seed=seed, dtype=dtype), random(outputs, inputs, dtype=dtype)
    bias = random(outputs, seed=seed + 1, dtype=dtype) if biased else None
    found = F.linear(features, PackedWeight.of(weight), bias)
    assert type(found) is Tensor
    assert (found.shape, found.dtype) == ((*leading, outputs), dtype)
    exact, added = (features.double(), weight.double()), bias.double() if biased else None
    largest = F.linear(exact[0].abs(), exact[1].abs(), added.abs() if biased else None)
    # Sums are held in float32 whatever the format is, and in bfloat16 rounded once more.
    rounding = (inputs + 1) * torch.finfo(torch.float32).eps + torch.finfo(dtype).eps
    assert ((found.double() - F.linear(*exact, added)).abs() <= rounding * largest).all()


@needs_packing
def test_a_part_is_packed_once() -> None:
    matrix = PackedWeight.of(random(12, 7))
    assert matrix[2:5] is matrix[2:5]
    assert len({id(matrix[rows]) for rows in (slice(2, 5), slice(2, 6), slice(3, 5), slice(2, 5, 2), slice(5))}) == 5


@needs_packing
def test_autocast_does_what_it_does_to_the_matrix() -> None:
    features, weight = random(3, 7), random(5, 7)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = F.linear(features, PackedWeight.of(weight)), F.linear(features, weight)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, expected)


@needs_packing
def test_whether_it_can_be_packed_is_found_out_under_autocast_too() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        found = [can_pack.__wrapped__(dtype) for dtype in (torch.float32, torch.float64)]
    assert found == [True, False]


@needs_packing
def test_it_lies_in_the_memory_of_the_matrix() -> None:
    matrix = nn.Parameter(random(5, 7))
    packed = PackedWeight.of(matrix)
    assert packed.full().data_ptr() == matrix.data_ptr() == nn.Parameter(packed, requires_grad=False).full().data_ptr()
    assert not packed.full().requires_grad
    assert packed[2:4].full().data_ptr() == matrix[2:4].data_ptr()


@each_format
def test_gradients_flow_through_to_features(dtype: torch.dtype) -> None:
    weight, bias, slopes = random(5, 7, dtype=dtype), random(5, dtype=dtype), random(3, 5, dtype=dtype)
    gradients = []
    for matrix in (weight, PackedWeight.of(weight)):
        features = random(3, 7, dtype=dtype).requires_grad_()
        found = F.linear(features, matrix, bias)
        gradients += torch.autograd.grad(found, features, slopes)
    assert torch.equal(*gradients)


@needs_packing
def test_gradients_flow_through_to_a_bias() -> None:
    bias = random(5).requires_grad_()
    F.linear(random(3, 7), PackedWeight.of(random(5, 7)), bias).sum().backward()
    assert bias.grad is not None
    assert bias.grad.tolist() == [3.0] * 5


@needs_packing
def test_features_of_another_format_get_what_the_matrix_gives() -> None:
    weight = random(5, 7)
    for other in (torch.float64, torch.bfloat16):
        features = random(3, 7, dtype=other)
        told = []
        for matrix in (weight, PackedWeight.of(weight)):
            with pytest.raises(RuntimeError) as error:
                F.linear(features, matrix)
            told.append(str(error.value))
        assert told[0] == told[1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(F.linear(features, PackedWeight.of(weight)), F.linear(features, weight))


@pytest.fixture
def _asked_anew() -> Iterator[None]:
    can_pack.cache_clear()
    yield
    can_pack.cache_clear()


@pytest.mark.usefixtures("_asked_anew")
def test_float64_is_not_packed_nor_anything_without_onednn_or_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not can_pack(torch.float64)
    refused, missing = RuntimeError("could not create a primitive descriptor"), AttributeError("no such operator")
    for name, function in (
        ("_reorder_linear_weight", _refusing(refused)),
        ("_reorder_linear_weight", _refusing(missing)),
        ("_linear_pointwise", _refusing(refused)),
        ("_linear_pointwise", _refusing(missing)),
        ("_linear_pointwise", lambda features, *_: features * 2),
    ):
        can_pack.cache_clear()
        with monkeypatch.context() as changed:
            changed.setattr(torch.ops.mkldnn, name, function)
            assert not can_pack(torch.float32)
    can_pack.cache_clear()
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not can_pack(torch.float32)
    assert not can_pack(torch.bfloat16)


def _refusing(error: Exception) -> object:
    def refuse(*_: object) -> None:
        raise error

    return refuse


@pytest.mark.usefixtures("_asked_anew")
@pytest.mark.parametrize("name", ["transformer-scaled_dot-sinusoidal", "recurrent-additive-feed"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_without_onednn_linear_maps_stay_plain(name: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model = model_of(name)
    assert not any(isinstance(parameter, PackedWeight) for parameter in laid_out(model).parameters())
    if precision == "bfloat16":
        torch._foreach_copy_(list(model.parameters()), [weight.bfloat16().float() for weight in model.parameters()])
    how = Decoding.model_validate({"beam": 3, "longest_factor": 0.0, "longest_extra": 4, "precision": precision})
    found = decode_all(model, SOURCES, how)
    plain = decode(model, padded_sources(SOURCES), how)
    assert_alike(found, plain, 1e-4 if precision == "float32" else 0.1)


def model_of(name: str) -> Generator:
    torch.manual_seed(len(name))
    if name == "ensemble":
        return Ensemble([model_of("recurrent-additive-feed"), model_of("transformer-scaled_dot-rotary")])
    if name == "copying-ensemble":
        return Ensemble([model_of("copying-feed"), model_of("copying-transformer")])
    model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.mul_(2)  # further from uniform, so that rounding does not decide
    return model


def assert_alike(found: list[list[Hypothesis]], expected: list[list[Hypothesis]], off: float) -> None:
    """The same best outputs, as likely."""
    assert [row[0].tokens for row in found] == [row[0].tokens for row in expected]
    assert [row[0].finished for row in found] == [row[0].finished for row in expected]
    assert [row[0].score for row in found] == pytest.approx([row[0].score for row in expected], abs=off)


@pytest.mark.spread(9)
@every_generator
def test_every_kind_of_model_writes_the_same_laid_out_and_not(name: str) -> None:
    model = model_of(name)
    words = WORDS if model.copies else None
    how = Decoding(beam=3, longest_factor=1.0, longest_extra=2)
    expected = decode(model, padded_sources(SOURCES, words), how)
    assert_alike(decode(laid_out(model), padded_sources(SOURCES, words), how), expected, 1e-3)
    assert_alike(decode_all(model, SOURCES, how, words=words), expected, 1e-3)


@pytest.mark.spread(16)
@every_model
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_numbers_are_the_same_in_one_piece_and_in_several(name: str, dtype: torch.dtype) -> None:
    model = model_of(name).to(dtype)
    source = padded_sources(SOURCES, SOURCES if model.copies else None, 5)
    tokens = torch.tensor([[BEGIN, 4, 5, 6]] * len(SOURCES))
    expected, _ = model.advance(tokens, model.start(source, 4))
    copy = laid_out(model)
    assert copy is not model
    state = copy.start(source, 4)
    pieces = []
    for piece in tokens.split([1, 2, 1], 1):
        features, state = copy.advance(piece, state)
        pieces.append(features)
    off = {"rtol": 1e-7, "atol": 1e-7} if dtype == torch.float64 else {"rtol": 1e-3, "atol": 1e-3}
    torch.testing.assert_close(torch.cat(pieces, 1), expected, **off)
    hidden = expected[..., : model.readout.width]
    torch.testing.assert_close(copy.readout.logits(hidden), model.readout.logits(hidden), **off)


@pytest.mark.spread(20)
@each_format
@every_model
def test_linear_maps_and_readouts_are_packed_and_cells_of_decoders_lie_by_inputs(name: str, dtype: torch.dtype) -> None:
    model = model_of(name).to(dtype)
    copy = laid_out(model)
    for mine, theirs in zip(copy.modules(), model.modules(), strict=True):
        if isinstance(mine, nn.Linear):
            assert isinstance(mine.weight, PackedWeight)
            assert mine.weight.full().data_ptr() == theirs.weight.data_ptr()
    for vectors in (module for module in copy.modules() if isinstance(module, TokenVectors)):
        assert isinstance(vectors.weight, PackedWeight) == (vectors is copy.readout)
    cells = [module for module in copy.decoder.modules() if isinstance(module, Cell)]
    assert bool(cells) == isinstance(model, RecurrentTranslator)
    for cell in cells:
        assert all(matrix.t().is_contiguous() for matrix in (cell.input_weight, cell.hidden_weight))
    for mine, theirs in zip(copy.encoder.modules(), model.encoder.modules(), strict=True):
        if isinstance(mine, Cell):
            assert mine.input_weight is theirs.input_weight


def test_the_model_itself_stays_as_it_is_and_shares_the_rest() -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    before = {name: (tensor, tensor.stride()) for name, tensor in model.named_parameters()}
    copy = laid_out(model)
    assert laid_out(model) is not copy
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    assert all(after[name] is tensor and tensor.stride() == stride for name, (tensor, stride) in before.items())
    assert copy.encoder.layers[0].attention.inward.bias is model.encoder.layers[0].attention.inward.bias
    assert copy.decoder.input.embedding.weight is model.decoder.input.embedding.weight
    with record(model, "decoder.*.cross.weights") as seen:
        decode_all(model, SOURCES[:1], Decoding(beam=1, longest_factor=0.0, longest_extra=2))
    assert all(seen.values())


@needs_packing
def test_what_is_rounded_already_stays_so() -> None:
    linear = nn.Linear(4, 3)
    linear.weight = nn.Parameter(Int8Weight.of(linear.weight.detach()), requires_grad=False)
    model = model_of("transformer-scaled_dot-sinusoidal")
    model.decoder.layers[0].feedforward.inward = linear
    assert isinstance(laid_out(model).decoder.layers[0].feedforward.inward.weight, Int8Weight)


def test_what_there_is_to_lay_out() -> None:
    assert has_matrices(model_of("recurrent-none-before"))
    assert has_matrices(SmallGenerator(31))
    assert not has_matrices(UniformGenerator(9))
