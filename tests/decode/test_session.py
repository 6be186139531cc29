"""Sessions: which model computes in which number format, that its copies are up to date, and that they can be looked
at."""

import gc
import weakref
from weakref import ref

import pytest
import torch
from decoding_toys import SmallGenerator, TableGenerator, random_table
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.data.batch import Padded, padded_sources
from regard.decode import Session, decode, decode_all
from regard.decode.int8 import Int8Weight, has_int8
from regard.decode.modules import weights_of
from regard.decode.packed_weights import PackedWeight, can_pack
from regard.decode.weight_formats import WeightFormat
from regard.models import Generator, build_model
from regard.recipe import Decoding
from regard.tap import Tap, record

CPU = torch.device("cpu")
SOURCES = [[4, 5, 6, 4], [6, 6], [5]]

needs_eight_bits = pytest.mark.skipif(not has_int8(), reason="this processor does not multiply such numbers")


def small_model(name: str = "transformer-scaled_dot-sinusoidal") -> Generator:
    return build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()


FORMATS = ["float32", "bfloat16", pytest.param("int8", marks=needs_eight_bits)]
each_precision = pytest.mark.parametrize("precision", FORMATS)


def copy_in(precision: str, model: Generator | Session) -> Generator:
    """The model that computes on a CPU."""
    with Session.of(model)._computing_in(precision) as computing:
        return computing


def narrow(model: Generator) -> Generator:
    """The model that computes in bfloat16 on a CUDA device."""
    return Session(model)._in_bfloat16()


def how_in(precision: str) -> Decoding:
    return Decoding.model_validate({"beam": 2, "longest_factor": 1.0, "longest_extra": 2, "precision": precision})


def multipliers_of(model: Generator) -> set[type]:
    return {type(weight) for weight in weights_of(model) if isinstance(weight, WeightFormat)}


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_a_model_without_matrices_computes_on_a_cpu_as_it_is(precision: str) -> None:
    model = TableGenerator(random_table(1, 6))
    assert copy_in(precision, model) is model
    how = Decoding(precision=precision)  # type: ignore[arg-type]
    assert decode_all(model, [[4], [5]], how) == decode_all(model, [[4], [5]], Decoding())


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_on_a_cpu_matrices_are_multiplied_in_float32(precision: str) -> None:
    model = small_model()
    held = Session(model)
    copy = copy_in(precision, held)
    assert copy is copy_in("float32", held)
    assert {weight.dtype for weight in weights_of(copy) if weight.is_floating_point()} == {torch.float32}
    assert multipliers_of(copy) == ({PackedWeight} if can_pack(torch.float32) else set())
    how = how_in(precision)
    assert decode_all(model, SOURCES, how) == decode_all(model, SOURCES, how_in("float32"))


def test_a_cpu_writes_in_bfloat16_what_the_copy_writes() -> None:
    torch.manual_seed(1)
    model, how = small_model(), how_in("bfloat16")
    copy = copy_in("bfloat16", model)
    assert {weight.dtype for weight in weights_of(copy) if weight.is_floating_point()} == {torch.bfloat16}
    assert multipliers_of(copy) == ({PackedWeight} if can_pack(torch.bfloat16) else set())
    assert copy is not narrow(model)
    found = decode_all(model, SOURCES, how)
    assert found == decode(copy, padded_sources(SOURCES), how)
    assert found != decode_all(model, SOURCES, how_in("float32"))
    # By plain products it is the same but for rounding.
    plain = decode(narrow(model), padded_sources(SOURCES), how)
    scores = [best.score for best, *_ in plain]
    assert [best.score for best, *_ in found] == pytest.approx(scores, abs=0.05)


@needs_eight_bits
def test_in_int8_every_matrix_but_those_of_gates_is_rounded_and_gates_are_packed() -> None:
    torch.manual_seed(1)
    copy = copy_in("int8", small_model("copying-feed"))
    for module in copy.modules():
        if isinstance(module, nn.Linear):
            expected = (
                Int8Weight if module.out_features > 1 else PackedWeight if can_pack(torch.float32) else nn.Parameter
            )
            assert type(module.weight) is expected
    assert isinstance(copy.readout.weight, Int8Weight)


@each_precision
def test_a_copy_is_kept_until_weights_change_and_no_longer_than_its_session(precision: str) -> None:
    model, how = small_model("recurrent-additive-before"), how_in(precision)
    held = Session(model)
    first = copy_in(precision, held)
    assert first is not model
    assert copy_in(precision, held) is first
    before = decode_all(held, SOURCES, how)
    assert decode_all(held, SOURCES, how) == before == decode_all(model, SOURCES, how)
    assert copy_in(precision, held) is first
    with torch.no_grad():
        model.readout.bias[5] += 9.0
    last = copy_in(precision, held)
    assert last is not first
    assert decode_all(held, SOURCES, how) != before
    assert 5 in decode_all(held, SOURCES, how)[0][0].tokens
    gone = weakref.ref(last)
    del held, last
    gc.collect()
    assert gone() is None


@each_precision
def test_after_steps_of_a_fused_optimizer_a_refreshed_session_writes_with_the_new_weights(precision: str) -> None:
    """Those raise no version."""
    model, how = small_model("recurrent-additive-before").train(), how_in(precision)
    held = Session(model)
    before = decode_all(held, SOURCES, how)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, fused=True)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    held.refresh()
    assert decode_all(held, SOURCES, how) == decode_all(model, SOURCES, how) != before


@each_precision
def test_a_weight_that_comes_to_lie_where_another_lay_is_another(precision: str) -> None:
    model = small_model()
    held, linear = Session(model), model.decoder.layers[0].feedforward.inward
    for _ in range(20):
        copy_in(precision, held)
        linear.weight = None
        linear.weight = nn.Parameter(torch.randn(linear.out_features, linear.in_features))
        copied = copy_in(precision, held).decoder.layers[0].feedforward.inward.weight
        off = {"float32": 0.0, "bfloat16": 0.02, "int8": 0.02}[precision]
        torch.testing.assert_close(copied.float(), linear.weight.detach(), rtol=0, atol=off)


@each_precision
def test_a_copy_is_never_in_training(precision: str) -> None:
    model = small_model().train()
    decode_all(model, SOURCES, how_in(precision))
    assert model.decoder.training
    assert not any(module.training for module in copy_in(precision, model).modules() if not isinstance(module, Tap))


@each_precision
def test_weights_of_inference_mode_are_read_each_time(precision: str) -> None:
    """Inference tensors have no version. In float32 the model itself decodes, in other precisions a new copy."""
    with torch.inference_mode():
        made_here = small_model()
    assert (copy_in(precision, made_here) is made_here) == (precision == "float32")
    how = how_in(precision)
    before = decode_all(made_here, SOURCES, how)
    usual = small_model()
    usual.load_state_dict(made_here.state_dict())
    found = decode_all(usual, SOURCES, how)
    assert [best.score for best, *_ in found] == pytest.approx([best.score for best, *_ in before], abs=1e-4)
    with torch.inference_mode():
        made_here.readout.weight[5] *= 9.0
    assert decode_all(made_here, SOURCES, how) != before


@each_precision
def test_a_model_that_is_no_translator_is_copied_too(precision: str) -> None:
    model = SmallGenerator(31)
    expected = Int8Weight if precision == "int8" else PackedWeight
    assert isinstance(copy_in(precision, model).output.weight, expected) or not can_pack(torch.float32)
    assert len(decode_all(model, SOURCES, how_in(precision))) == len(SOURCES)


def test_products_are_in_tf32_only_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "device", torch.device("cuda"))
    model, before = small_model(), torch.backends.cuda.matmul.allow_tf32
    with Session(model)._computing_in("tf32") as computing:
        assert computing is model
        assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cuda.matmul.allow_tf32 == before


def test_the_copy_follows_the_weights_and_has_the_same_taps() -> None:
    model = small_model()
    held = Session(model)
    copy = held._in_bfloat16()
    assert {tensor.dtype for tensor in weights_of(copy) if tensor.is_floating_point()} == {torch.bfloat16}
    with torch.no_grad():
        model.start(Padded.of([[5] * 1100]), 1)  # more positions than there is a table for
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert held._in_bfloat16() is copy
    for mine, theirs in zip(copy.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs.bfloat16())
    with record(model, "decoder.output"):
        assert copy.get_submodule("decoder.output").watched
    assert [name for name, _ in copy.named_parameters()] == [name for name, _ in model.named_parameters()]


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", [kind for kind in TINY if "copying" not in kind][::6])
def test_models_compute_in_bfloat16_throughout(name: str) -> None:
    """Shapes and formats alone, without any numbers: not every processor multiplies in bfloat16."""
    with FakeTensorMode(), torch.inference_mode():
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = build_model(TINY[name], SOURCE_SIZE, TARGET_SIZE).eval()
        finally:
            torch.set_default_dtype(torch.float32)
        state = model.start(Padded(torch.zeros(2, 4, dtype=torch.long), torch.full((2,), 4)), 3)
        for _ in range(2):
            state = state.branch(torch.zeros(2, 3, dtype=torch.long))
            features, state = model.advance(torch.zeros(6, 1, dtype=torch.long), state)
            assert model.readout_of(state).logits(features[:, -1]).dtype == torch.bfloat16


def test_a_model_whose_weights_are_in_bfloat16_needs_no_copy_in_it() -> None:
    model = small_model()
    Session(model).hold_only("bfloat16")  # which changes nothing on a CPU
    assert narrow(model) is not model
    model.to(torch.bfloat16)
    assert narrow(model) is model


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_what_was_dropped_is_gone_and_made_again(precision: str) -> None:
    held, how = Session(small_model()), how_in(precision)
    before = decode_all(held, SOURCES, how)
    with held.writing(how) as writer:
        copied = ref(writer)
    del writer
    held.drop()
    gc.collect()
    assert copied() is None
    assert decode_all(held, SOURCES, how) == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_weights_in_the_format_of_writing_alone_write_the_same_in_less_memory() -> None:
    device, how = torch.device("cuda"), how_in("bfloat16")
    model = small_model().to(device)
    held = Session(model)
    before = decode_all(held, SOURCES, how)
    taken = sum(weight.nbytes for weight in weights_of(model))
    held.hold_only("float32")
    assert sum(weight.nbytes for weight in weights_of(model)) == taken
    held.hold_only("bfloat16")
    assert sum(weight.nbytes for weight in weights_of(model) if weight.is_floating_point()) <= taken // 2
    assert decode_all(held, SOURCES, how) == before
