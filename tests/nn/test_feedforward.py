"""The feed-forward layer against its equations."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels import KERNELS
from regard.nn import FeedForward
from regard.tap import intervene, record

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * torch.distributions.Normal(0.0, 1.0).cdf(x),
    "swiglu": lambda x: x[..., :5] * torch.sigmoid(x[..., :5]) * x[..., 5:],
}


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_it_is_two_linear_maps_around_the_activation(kind: str) -> None:
    layer = FeedForward(4, 5, kind).double()
    nn.init.normal_(layer.inward.bias)
    nn.init.normal_(layer.outward.bias)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    hidden = ACTIVATIONS[kind](x @ layer.inward.weight.T + layer.inward.bias)
    torch.testing.assert_close(layer(x), hidden @ layer.outward.weight.T + layer.outward.bias, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activations_can_be_looked_at_and_changed(kind: str) -> None:
    layer = FeedForward(4, 5, kind)
    x = torch.randn(2, 4)
    with record(layer, "activation") as seen:
        plain = layer(x)
    assert seen.last("activation").shape == (2, 5)
    assert torch.equal(plain, F.linear(seen.last("activation"), layer.outward.weight, layer.outward.bias))
    with intervene(layer, "activation", torch.zeros_like):
        assert torch.equal(layer(x), layer.outward.bias.expand(2, 4))


@pytest.mark.parametrize("rows", [(2, 3), (4,), (0, 1), ()])
def test_in_one_kernel_it_is_the_same(monkeypatch: pytest.MonkeyPatch, rows: tuple[int, ...]) -> None:
    """As on CUDA devices, where torch has one for the map and the activation; here it has two."""
    layer = FeedForward(4, 5)
    nn.init.normal_(layer.inward.bias)
    x = torch.randn(*rows, 4)
    with torch.inference_mode():
        expected = layer(x)
        monkeypatch.setitem(KERNELS, "linear_relu", {"cpu": KERNELS["linear_relu"]["cuda"]})
        monkeypatch.setattr(F, "relu", lambda *_, **__: pytest.fail("it was done in two"))
        torch.testing.assert_close(layer(x), expected)
