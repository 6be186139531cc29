"""On a CUDA device: nothing waits for the host, captured equals eager bit for bit, kernels follow the definition."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.attention import NORMALIZERS, POSITIONS, SCORES, Attention, Heads, KeyValueCache, attend, padding

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

KINDS = [(score, "softmax", "none") for score in SCORES]
KINDS += [("scaled_dot", normalizer, "none") for normalizer in NORMALIZERS]
KINDS += [("scaled_dot", "softmax", position) for position in POSITIONS]


def step_of(score: str, normalizer: str, position: str) -> Callable[[], list[Tensor]]:
    """A forward and backward pass of causal heads over a padded batch, giving the context and all gradients."""
    torch.manual_seed(0)
    place = POSITIONS[position](32, 4, longest=64, clip=4)
    heads = Heads(32, 4, score=score, normalizer=normalizer, position=place, causal=True).cuda()
    x = torch.randn(3, 16, 32, device="cuda")
    keep = torch.arange(16, device="cuda") < torch.tensor([16, 9, 1], device="cuda")[:, None]
    parameters = list(heads.parameters())

    def step() -> list[Tensor]:
        context = heads(place.embed(x), mask=padding(keep))
        return [context.detach(), *torch.autograd.grad(context.square().sum(), parameters)]

    return step


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.parametrize(("score", "normalizer", "position"), KINDS)
def test_captured_equals_eager_and_nothing_waits_for_the_host(score: str, normalizer: str, position: str) -> None:
    step = step_of(score, normalizer, position)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
        torch.cuda.set_sync_debug_mode("error")
        try:
            eager = step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    graph.replay()
    assert all(torch.equal(one, other) for one, other in zip(captured, eager, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("biased", [False, True])
def test_kernels_agree_with_the_definition_where_a_query_sees_nothing(
    dtype: torch.dtype, groups: int, biased: bool
) -> None:
    attention = Attention(SCORES["scaled_dot"](16, 16, hidden=1))
    query, key, value = (
        torch.randn(2, heads, 8, 16, device="cuda", dtype=dtype, requires_grad=True) for heads in (4, groups, groups)
    )
    mask = torch.rand(2, 1, 8, 8, device="cuda") < 0.6
    mask[0, :, 3] = False
    bias = torch.randn(4, 8, 8, device="cuda", dtype=dtype) if biased else None
    fast = attention(query, key, value, mask=mask, bias=bias)
    plain, _ = attend(query, key, value, mask=mask, bias=bias)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(fast, plain, rtol=tolerance, atol=tolerance)
    assert (fast[0, :, 3] == 0).all()
    gradients = torch.autograd.grad(fast.square().sum(), (query, key, value))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][0, :, 3] == 0).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_decoding_agrees_with_the_whole_sequence(position: str) -> None:
    place = POSITIONS[position](32, 4, longest=64, clip=4)
    heads = Heads(32, 4, position=place, causal=True).cuda()
    x, cache = torch.randn(3, 12, 32, device="cuda"), KeyValueCache(20)
    with torch.inference_mode():
        whole = heads(place.embed(x))
        pieces = [heads(place.embed(x[:, i : i + 3], i), cache=cache) for i in range(0, 12, 3)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [2, 16, 17])
def test_without_gradients_nobody_sees_later_positions_either(count: int) -> None:
    torch.manual_seed(0)
    heads = Heads(32, 2, causal=True).cuda()
    x = torch.randn(3, count, 32, device="cuda")
    with_gradients = heads(x)
    with torch.no_grad():
        torch.testing.assert_close(heads(x), with_gradients)
        torch.testing.assert_close(heads(x[:, :1]), with_gradients[:, :1])
