"""Weights laid out for steps of decoding: other memory, the same numbers."""

import gc
import weakref

import pytest
import torch
from decoding_toys import SmallGenerator
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import nn

from regard.data.batch import padded_sources
from regard.decode import decode_all
from regard.decode.layout import laid_out
from regard.models import Generator, build_model
from regard.nn.cells import Cell
from regard.recipe import Decoding
from regard.tap import Tap, record
from regard.tokens.vocabulary import BEGIN

each_kind = pytest.mark.parametrize("name", sorted(TINY))
SOURCES = [[4, 5, 6, 4], [6, 6], [5]]


def model_of(name: str) -> Generator:
    torch.manual_seed(len(name))
    return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()


@each_kind
@torch.no_grad()
def test_the_numbers_are_the_same_in_one_piece_and_in_several(name: str) -> None:
    model = model_of(name).double()
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
    torch.testing.assert_close(torch.cat(pieces, 1), expected)
    hidden = expected[..., : model.readout.width]
    torch.testing.assert_close(copy.readout.logits(hidden), model.readout.logits(hidden))


@each_kind
def test_every_matrix_of_a_decoder_and_its_readout_lies_by_inputs(name: str) -> None:
    copy = laid_out(model_of(name))
    matrices = [copy.readout.weight]
    for module in copy.decoder.modules():
        if isinstance(module, nn.Linear):
            matrices.append(module.weight)
        elif isinstance(module, Cell):
            matrices += [module.input_weight, module.hidden_weight]
    assert all(matrix.t().is_contiguous() for matrix in matrices)


def test_the_model_itself_stays_as_it_is_and_shares_the_rest() -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    before = {name: (tensor, tensor.stride()) for name, tensor in model.named_parameters()}
    copy = laid_out(model)
    after = dict(model.named_parameters())
    assert after.keys() == before.keys()
    assert all(after[name] is tensor and tensor.stride() == stride for name, (tensor, stride) in before.items())
    assert copy.encoder.layers[0].attention.inward.weight is model.encoder.layers[0].attention.inward.weight
    assert copy.decoder.input.embedding.weight is model.decoder.input.embedding.weight
    with record(model, "decoder.*.cross.weights") as seen:
        decode_all(model, SOURCES, Decoding(beam=2, longest_factor=0.0, longest_extra=2))
    assert all(seen.values())


def test_a_copy_is_kept_until_weights_change() -> None:
    model = model_of("recurrent-additive-before")
    how = Decoding(beam=2, n_best=2, longest_factor=1.0, longest_extra=2)
    first = laid_out(model)
    assert laid_out(model) is first
    before = decode_all(model, SOURCES, how)
    with torch.no_grad():
        model.readout.bias[5] += 9.0
    assert laid_out(model) is not first
    assert decode_all(model, SOURCES, how) != before
    assert 5 in decode_all(model, SOURCES, how)[0][0].tokens


def test_a_weight_that_comes_to_lie_where_another_lay_is_another() -> None:
    model = model_of("transformer-scaled_dot-sinusoidal")
    linear = model.decoder.layers[0].feedforward.inward
    for _ in range(20):
        laid_out(model)
        linear.weight = None
        linear.weight = nn.Parameter(torch.randn(linear.out_features, linear.in_features))
        assert torch.equal(laid_out(model).decoder.layers[0].feedforward.inward.weight, linear.weight)


def test_a_copy_is_never_in_training() -> None:
    model = model_of("transformer-scaled_dot-sinusoidal").train()
    decode_all(model, SOURCES, Decoding(beam=2, longest_factor=0.0, longest_extra=2))
    assert model.decoder.training
    assert not any(module.training for module in laid_out(model).modules() if not isinstance(module, Tap))


def test_a_copy_does_not_keep_its_model() -> None:
    model = model_of("recurrent-additive-before")
    copy, gone = laid_out(model), weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert copy.readout.size == TARGET_SIZE


def test_other_models_are_used_as_they_are() -> None:
    model = SmallGenerator(31)
    assert laid_out(model) is model
    with torch.inference_mode():
        made_here = model_of("recurrent-additive-before")
        assert laid_out(made_here) is made_here
