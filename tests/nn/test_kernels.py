"""On a CUDA device with Triton: sums that are normalized in one kernel, and maps that are activated in one."""

import pytest
import torch
from triton_device import DEVICE, INTERPRETED, needs_triton

from regard.nn import FeedForward
from regard.nn.blocks import FORMATS

pytestmark = needs_triton


@pytest.mark.parametrize("width", [1, 6, 512, 1030])
@pytest.mark.parametrize("dtype", FORMATS)
def test_a_sum_and_its_norm(width: int, dtype: torch.dtype) -> None:
    pytest.importorskip("triton")
    from regard.nn.kernels import add_norm

    stream, added = (torch.randn(3, 2, width, device=DEVICE).to(dtype) for _ in range(2))
    weight, bias = (torch.randn(width, device=DEVICE).to(dtype) for _ in range(2))
    total, normal = add_norm(stream, added, weight, bias, 1e-5)
    # Triton's interpreter cuts bfloat16 off where others round it.
    cut = 2**-7 if INTERPRETED and dtype == torch.bfloat16 else 0.0
    torch.testing.assert_close(total, stream + added, rtol=cut, atol=0)
    wide = (each.double() for each in (weight, bias))
    expected = torch.nn.functional.layer_norm(total.double(), (width,), *wide, eps=1e-5)
    assert normal.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(normal.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(INTERPRETED, reason="is a kernel of torch")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [(640, 1), (3, 5), (1, 1)])
def test_without_gradients_a_map_and_its_activation_are_one(dtype: torch.dtype, rows: tuple[int, ...]) -> None:
    layer = FeedForward(64, 128).to(DEVICE, dtype)
    torch.nn.init.normal_(layer.inward.bias)
    features = torch.randn(*rows, 64, device=DEVICE, dtype=dtype)
    with torch.inference_mode():
        found = layer(features)
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found, layer(features).detach(), rtol=tolerance, atol=tolerance)
