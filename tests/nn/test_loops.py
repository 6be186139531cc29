"""Our own loop over sums that are normalized, for decoding on a CPU, gives what torch does."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch_layers import randomize

from regard.attention import Heads
from regard.data.batch import Padded
from regard.models.transformer import build
from regard.nn import DecoderBlock, FeedForward, Residual, loops
from regard.nn.blocks import add_norm
from regard.recipe import TransformerModel
from regard.tap import record

ROWS = st.lists(st.integers(0, 3), min_size=0, max_size=3)


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    """The first call compiles, and hypothesis has no patience for that."""
    loops.add_norm(*torch.zeros(4, 1), 1.0)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the loop was given, each time."""
    counted: list[object] = []
    inner = loops.add_norm
    monkeypatch.setattr(loops, "add_norm", lambda *given: counted.append(given) or inner(*given))
    return counted


def norm_of(width: int) -> nn.LayerNorm:
    norm = nn.LayerNorm(width)
    randomize(norm)
    return norm


@given(ROWS, st.sampled_from([1, 2, 17, 256]), st.sampled_from([0.0, -1e4]), st.booleans(), st.integers(0, 999))
def test_a_sum_and_its_norm(rows: list[int], width: int, offset: float, lies_apart: bool, seed: int) -> None:
    torch.manual_seed(seed)
    norm = norm_of(width)
    # Of some memory that has more features beside each other.
    stream, added = (torch.randn(*rows, width + lies_apart)[..., :width] for _ in range(2))
    stream += offset
    before = stream.clone(), added.clone()
    with torch.no_grad():
        total, normal = add_norm(stream, added, norm)
    assert torch.equal(total, stream + added)
    expected = F.layer_norm(total.double(), (width,), norm.weight.double(), norm.bias.double(), norm.eps)
    rounding = 1e-6 * (1 + abs(offset))
    torch.testing.assert_close(normal.double(), expected, rtol=1e-5 + rounding, atol=1e-5 + rounding)
    # Others may hold what it was given.
    assert torch.equal(torch.stack(before), torch.stack([stream, added]))


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_what_is_no_number_or_infinite_stays_so(number: float, counted: list[object]) -> None:
    stream, added, norm = torch.randn(3, 20), torch.randn(3, 20), norm_of(20)
    added[1, 7] = number
    with torch.no_grad():
        total, normal = add_norm(stream, added, norm)
        torch.testing.assert_close(total, stream + added, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(normal, norm(total), equal_nan=True)
    assert normal[1].isnan().all()
    assert len(counted) == 1


def test_what_the_loop_cannot_read_is_left_to_torch(counted: list[object]) -> None:
    x, norm = torch.randn(3, 4), norm_of(4)
    plain, unbiased = nn.LayerNorm(4, elementwise_affine=False), nn.LayerNorm(4, bias=False)
    given = [(x.double(), x.double(), norm_of(4).double()), (torch.randn(4, 3).T, x, norm)]
    with torch.no_grad():
        for stream, added, its_norm in [*given, (x, x, plain), (x, x, unbiased)]:
            assert torch.equal(add_norm(stream, added, its_norm)[1], its_norm(stream + added))
        with pytest.raises(RuntimeError, match="normalized_shape"):
            add_norm(x, x, norm_of(3))
        rough = x.bfloat16()
        assert torch.equal(add_norm(rough, rough, norm.bfloat16())[1], norm(rough + rough))
    assert not counted


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gradients_go_through_torch(norm: str, counted: list[object]) -> None:
    around, x = Residual(8, norm, 0.0), torch.randn(2, 3, 8, requires_grad=True)
    randomize(around)
    expected = x + around.norm(x).sin() if norm == "pre" else around.norm(x + x.sin())
    found = around(x, torch.sin)
    seen = [torch.autograd.grad(each.pow(2).sum(), x)[0] for each in (found, expected)]
    torch.testing.assert_close(*seen)
    assert not counted


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_whoever_looks_sees_the_same(norm: str, counted: list[object]) -> None:
    block = DecoderBlock(Heads(6, 2, causal=True), Heads(6, 2), FeedForward(6, 5), width=6, norm=norm, dropout=0.0)
    randomize(block)
    x, memory = torch.randn(2, 3, 6), block.cross.remember(torch.randn(2, 4, 6))
    with record(block) as seen:
        expected = block(x, memory)
        with torch.no_grad():
            found = block(x, memory)
    torch.testing.assert_close(found, expected)
    for name, (one, other) in seen.items():
        torch.testing.assert_close(one, other, msg=name)
    assert len(counted) == (3 if norm == "post" else 0)


def test_a_decoder_leaves_its_sums_to_the_next_norm_unless_somebody_looks(counted: list[object]) -> None:
    settings = {"width": 8, "heads": 2, "feedforward": 12, "encoder_layers": 1, "decoder_layers": 2, "norm": "pre"}
    model = build(TransformerModel.model_validate({"kind": "transformer", **settings}), 10, 10).eval()
    randomize(model)
    source = Padded(torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]]), torch.tensor([4, 2]))
    target = torch.tensor([[2, 5, 6], [2, 8, 4]])
    with torch.no_grad():
        found, _ = model.advance(target, model.start(source, 3))
        assert len(counted) == 6  # all but the first of 7 norms have a sum before them
        with record(model, "decoder.layers.*.output") as seen:
            expected, _ = model.advance(target, model.start(source, 3))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(model.decoder.norm(seen.last("decoder.layers.1.output")), expected)
    assert len(counted) == 6
