"""On a CUDA device: maps that are activated in one kernel."""

import pytest
import torch
from triton_device import DEVICE, INTERPRETED, needs_triton

from regard.nn import FeedForward

pytestmark = needs_triton


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
