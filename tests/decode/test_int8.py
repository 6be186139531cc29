"""Linear maps in whole numbers of eight bits: exact but for the rounding of both sides, and models that compute so."""

import warnings

import pytest
import torch
from command_line import Trained, regard
from hypothesis import given
from hypothesis import strategies as st
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY, every_model
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batch import padded_sources
from regard.decode import decode_all, int8, score_all, session
from regard.decode.int8 import Int8Weight, has_int8, in_int8, is_exact
from regard.decode.packed_weights import can_pack
from regard.decode.session import Session
from regard.errors import ModelWarning
from regard.models import Ensemble, Generator, build_model
from regard.nn.cells import Cell
from regard.recipe import Decoding
from regard.tap import record
from regard.tokens.vocabulary import BEGIN

CPU = torch.device("cpu")
SOURCES = [[4, 5, 6, 4], [6, 6], [5]]
WORDS = [[9, 5, 10, 9], [9, 9], [5]]
WIDTHS = st.sampled_from([1, 2, 3, 7, 16, 33, 64])

needs_exact = pytest.mark.skipif(not is_exact(), reason="this processor does not add such products up exactly")


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    for bias in (None, torch.zeros(2)):
        F.linear(torch.zeros(1, 2), Int8Weight.of(torch.zeros(2, 2)), bias)


def random(*shape: int, seed: int, spread: float = 1.0) -> Tensor:
    """Numbers in rows of very different sizes."""
    generator = torch.Generator().manual_seed(seed)
    sizes = 10 ** (4 * torch.rand(*shape[:-1], 1, generator=generator) - 2)
    return torch.randn(*shape, generator=generator) * sizes * spread


@given(WIDTHS, WIDTHS, st.floats(1e-20, 1e20), st.integers(0, 999))
def test_each_number_is_off_by_half_a_scale_at_most(rows: int, width: int, spread: float, seed: int) -> None:
    matrix = random(rows, width, seed=seed, spread=spread)
    found = Int8Weight.of(matrix)
    assert (found.shape, found.dtype, found.numbers.dtype) == (matrix.shape, torch.float32, torch.int8)
    torch.testing.assert_close(found.scales, matrix.abs().amax(1) / 127, rtol=1e-6, atol=0)
    off = (found.full().double() - matrix.double()).abs()
    assert (off <= found.scales[:, None].double() * (0.5 + 1e-4)).all()
    assert (found.numbers.abs().amax(1) == 127).all()


@needs_exact
@given(
    st.lists(st.integers(0, 5), min_size=0, max_size=3),
    WIDTHS.filter(lambda width: width > 1),
    WIDTHS,
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    st.integers(0, 999),
)
def test_a_product_is_exact_but_for_rounding(
    leading: list[int], inputs: int, outputs: int, biased: bool, dtype: torch.dtype, seed: int
) -> None:
    features, weight = random(*leading, inputs, seed=seed).to(dtype), random(outputs, inputs, seed=seed + 1)
    bias = random(outputs, seed=seed + 2).to(dtype) if biased else None
    matrix, rows = Int8Weight.of(weight), Int8Weight.of(features.reshape(-1, inputs))
    found = F.linear(features, matrix, bias)
    assert (found.shape, found.dtype) == ((*leading, outputs), dtype)
    sums = rows.numbers.double() @ matrix.numbers.double().t()
    expected = sums * (rows.scales.double()[:, None] * matrix.scales.double())
    largest = expected.abs()
    if bias is not None:
        expected, largest = expected + bias.double(), largest + bias.double().abs()
    rounding = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)
    assert ((found.double().view(expected.shape) - expected).abs() <= 3 * rounding * largest).all()


@needs_exact
@given(WIDTHS, WIDTHS, st.integers(0, 999))
def test_products_are_near_those_of_the_matrix_itself(inputs: int, outputs: int, seed: int) -> None:
    features, weight, bias = (random(*shape, seed=seed) for shape in ((5, inputs), (outputs, inputs), (outputs,)))
    off = (F.linear(features, Int8Weight.of(weight), bias) - F.linear(features, weight, bias)).abs()
    largest = features.abs().amax(1, keepdim=True) * weight.abs().amax(1)
    assert (off <= inputs * largest * 1.01 / 127 + 1e-5 * bias.abs()).all()


@needs_exact
def test_rows_of_zeros_and_of_almost_nothing_give_nothing_but_the_bias() -> None:
    features, weight, bias = random(4, 6, seed=1), random(3, 6, seed=2), random(3, seed=3)
    features[1], features[2], weight[0] = 0.0, 1e-40, 0.0
    found = F.linear(features, Int8Weight.of(weight), bias)
    assert torch.equal(found[1:3], bias.expand(2, 3))
    assert torch.equal(found[:, 0], bias[:1].expand(4))
    assert found[[0, 3], 1:].ne(bias[1:]).all()
    assert not Int8Weight.of(features[1:3]).numbers.any()


@needs_exact
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("place", [0, 2, 32])
def test_what_is_no_number_stays_none_in_its_row_and_touches_no_other(bad: float, place: int) -> None:
    features, weight, bias = random(5, 33, seed=1), random(40, 33, seed=2), random(40, seed=3)
    weight[7] = 0.0
    before = F.linear(features, Int8Weight.of(weight), bias)
    rest = torch.tensor([0, 1, 3, 4])
    broken = features.clone()
    broken[2, place] = bad
    found = F.linear(broken, Int8Weight.of(weight), bias)
    assert found[2].isnan().all()
    assert torch.equal(found[rest], before[rest])
    weight[2, place] = bad
    found = F.linear(features, Int8Weight.of(weight), bias)
    assert found[:, 2].isnan().all()
    assert torch.equal(found[:, [0, 1, *range(3, 40)]], before[:, [0, 1, *range(3, 40)]])


def model_of(name: str) -> Generator:
    torch.manual_seed(len(name))
    if name == "ensemble":
        return Ensemble([model_of("recurrent-additive-feed"), model_of("transformer-scaled_dot-rotary")])
    return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()


def eight_bits_of(model: Generator) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if isinstance(parameter, Int8Weight)]


@pytest.mark.spread(12)
@needs_exact
@every_model
@torch.no_grad()
def test_every_kind_of_model_computes_nearly_the_same(name: str) -> None:
    model = model_of(name)
    copy = in_int8(model)
    source = padded_sources(SOURCES, WORDS if model.copies else None, 5)
    tokens, wanted = torch.tensor([[BEGIN, 4, 5, 6]] * 3), torch.tensor([[4, 5, 6, 2]] * 3)
    expected, found = ([], [])
    for each, log_probs in ((model, expected), (copy, found)):
        features, state = each.advance(tokens, each.start(source, 4))
        readout = each.readout_of(state)
        log_probs += [readout.logits(features).log_softmax(-1), *readout.log_probs(features, wanted)]
    assert eight_bits_of(copy)
    assert not torch.equal(found[0], expected[0])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.exp(), other.exp(), rtol=0.1, atol=0.02)
    torch.testing.assert_close(found[1], found[0].gather(-1, wanted[..., None])[..., 0], rtol=1e-4, atol=1e-5)


@pytest.mark.spread(4)
@needs_exact
@pytest.mark.parametrize("name", [*list(TINY)[::5], "copying-transformer", "ensemble"])
def test_outputs_are_scored_as_the_model_does_nearly(name: str) -> None:
    model = model_of(name)
    words = WORDS if model.copies else None
    how = Decoding(beam=3, n_best=2, longest_factor=1.0, longest_extra=2, precision="int8")
    for prefixes in ([[], [], []], [[4, 5], [5], [6, 6, 4]]):
        found = [best for best, *_ in decode_all(model, SOURCES, how, prefixes=prefixes, words=words)]
        assert [list(one.tokens[: len(prefix)]) for one, prefix in zip(found, prefixes, strict=True)] == prefixes
        scores = score_all(model, SOURCES, [one.tokens for one in found], words=words)
        for one, log_probs in zip(found, scores, strict=True):
            counted = log_probs if one.finished else log_probs[:-1]
            assert one.log_prob == pytest.approx(sum(counted), abs=0.05 * len(counted))


@needs_exact
def test_a_copy_shares_embeddings_other_weights_and_taps_and_leaves_the_model_as_it_is() -> None:
    model = model_of("transformer-multiplicative-sinusoidal")
    before = dict(model.named_parameters())
    copy = in_int8(model)
    assert dict(model.named_parameters()).keys() == before.keys()
    assert all(tensor is before[name] for name, tensor in model.named_parameters())
    rounded = {id(module.weight) for module in copy.modules() if isinstance(module, nn.Linear)} | {
        id(copy.readout.weight)
    }
    assert {id(tensor) for tensor in eight_bits_of(copy)} == rounded
    others = [(name, tensor) for name, tensor in copy.named_parameters() if id(tensor) not in rounded]
    assert others
    assert all(before[name] is tensor for name, tensor in others)
    assert copy.decoder.input.embedding.weight is model.decoder.input.embedding.weight
    with record(model, "decoder.*.cross.weights") as seen:
        decode_all(model, SOURCES[:1], Decoding(beam=1, longest_factor=0.0, longest_extra=2, precision="int8"))
    assert all(seen.values())


def test_gates_and_cells_stay_as_they_are() -> None:
    copy = in_int8(model_of("copying-feed"))
    gates = [module for module in copy.modules() if isinstance(module, nn.Linear) and module.out_features == 1]
    cells = [module for module in copy.modules() if isinstance(module, Cell)]
    assert gates
    assert cells
    weights = [gate.weight for gate in gates] + [cell.input_weight for cell in cells]
    assert not any(isinstance(weight, Int8Weight) for weight in weights)


def test_elsewhere_the_model_itself_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    monkeypatch.setattr(Session, "device", torch.device("cuda"))
    with Session(model)._computing_in("int8") as computing:
        assert computing is model


@pytest.mark.parametrize("missing", ["exact", "quick"])
def test_a_processor_that_cannot_is_told_of_once(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    monkeypatch.setattr(int8, "is_exact", lambda: missing != "exact")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: missing != "quick")
    caches = session._int8_available, has_int8, can_pack
    for each in caches:
        each.cache_clear()
    try:
        message = (
            "decode.precision = 'int8': this processor, or torch on it, has no fast and exact int8 products, so "
            "float32 is used instead; set it to bfloat16 or float32"
        )
        held = Session(model)
        with pytest.warns(ModelWarning) as told, held._computing_in("int8") as computing:
            assert not eight_bits_of(computing)
        assert [str(one.message) for one in told] == [message]
        with warnings.catch_warnings(), held._computing_in("int8") as again:
            warnings.simplefilter("error")
            assert again is computing
        with held._computing_in("float32") as usual:
            assert usual is computing
    finally:
        for each in caches:
            each.cache_clear()


@pytest.mark.long
@needs_exact
def test_two_workers_write_what_one_does() -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    how = Decoding(beam=3, n_best=2, longest_factor=1.0, longest_extra=2, precision="int8", batch_tokens=8)
    alone = decode_all(model, SOURCES * 8, how)
    torch.set_num_threads(2)
    assert decode_all(model, SOURCES * 8, how) == alone


def test_whether_sums_are_exact_is_found_out_by_the_largest() -> None:
    """An older processor adds pairs of products up in 16 bits."""
    assert is_exact() == is_exact.__wrapped__()
    original = torch._int_mm
    try:
        torch._int_mm = lambda rows, columns: original(rows, columns).clamp(-(2**20), 2**20)
        assert not is_exact.__wrapped__()
    finally:
        torch._int_mm = original


@needs_exact
def test_the_command_translates_so(trained: Trained) -> None:
    text, how = b"eins zwei\n\nHaus\nrot und blau\n", ("--set", "decode.precision=int8")
    outputs = [regard("translate", trained.folder, *options, stdin=text) for options in ((), how)]
    assert [(told.code, told.err) for told in outputs] == [(0, "")] * 2
    # By far the likeliest, for this model.
    assert outputs[0].out == outputs[1].out == "one two\n\nhouse\nred and blue\n"
