"""Number formats: which model computes, that a copy in bfloat16 is up to date, and that one can look at it."""

import gc

import pytest
import torch
from decoding_toys import TableGenerator, random_table
from model_strategies import SOURCE_SIZE, TARGET_SIZE, TINY
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.data.batch import Padded
from regard.decode import decode_all
from regard.decode.modules import weights_of
from regard.decode.precision import _COPIES, computing_in, narrow
from regard.models import Generator, build_model
from regard.recipe import Decoding
from regard.tap import record

CPU = torch.device("cpu")


def small_model() -> Generator:
    return build_model(TINY["transformer-scaled_dot-sinusoidal"], SOURCE_SIZE, TARGET_SIZE).eval()


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_on_a_cpu_matrices_are_multiplied_in_float32(precision: str) -> None:
    model = TableGenerator(random_table(1, 6))
    with computing_in(precision, model, CPU) as computing:
        assert computing is model
    how = Decoding(precision=precision)  # type: ignore[arg-type]
    assert decode_all(model, [[4], [5]], how) == decode_all(model, [[4], [5]], Decoding())


def test_a_cpu_writes_in_bfloat16_what_the_copy_writes() -> None:
    torch.manual_seed(1)
    model, sources = small_model(), [[4, 5], [5], []]
    with computing_in("bfloat16", model, CPU) as computing:
        assert computing is narrow(model)
    found = decode_all(model, sources, Decoding(precision="bfloat16"))
    assert found == decode_all(narrow(model), sources, Decoding())
    assert found != decode_all(model, sources, Decoding())


def test_products_are_in_tf32_only_within() -> None:
    model, before = small_model(), torch.backends.cuda.matmul.allow_tf32
    with computing_in("tf32", model, torch.device("cuda")) as computing:
        assert computing is model
        assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cuda.matmul.allow_tf32 == before


def test_the_copy_follows_the_weights_and_has_the_same_taps() -> None:
    model = small_model()
    copy = narrow(model)
    assert {tensor.dtype for tensor in weights_of(copy) if tensor.is_floating_point()} == {torch.bfloat16}
    with torch.no_grad():
        model.start(Padded.of([[5] * 3000]), 1)  # more positions than there is a table for
        for parameter in model.parameters():
            parameter.add_(1.0)
    with computing_in("bfloat16", model, torch.device("cuda")) as computing:
        assert computing is copy
    for mine, theirs in zip(copy.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs.bfloat16())
    with record(model, "decoder.output"):
        assert copy.get_submodule("decoder.output").watched
    assert [name for name, _ in copy.named_parameters()] == [name for name, _ in model.named_parameters()]


def test_the_copy_goes_with_its_model() -> None:
    gc.collect()  # those of other tests
    model = small_model()
    narrow(model)
    before = len(_COPIES)
    del model
    gc.collect()
    assert len(_COPIES) == before - 1


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
