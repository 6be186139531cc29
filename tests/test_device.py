"""Where kernels of our own may be launched."""

from typing import cast

import pytest
import torch
from torch import Tensor

from regard import device
from regard.device import has_kernels, on_device


class OnDevice:
    """A tensor that lies on a CUDA device, as far as anybody asks."""

    def __init__(self, index: int) -> None:
        self.index, self.is_cuda = index, True

    def get_device(self) -> int:
        return self.index


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("index", [0, 1])
def test_kernels_read_what_lies_on_the_present_device(monkeypatch: pytest.MonkeyPatch, index: int, there: bool) -> None:
    monkeypatch.setattr(device, "has_triton", lambda: there)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    held = cast(Tensor, OnDevice(index))
    assert not has_kernels(held)  # gradients may be needed
    with torch.inference_mode():
        assert has_kernels(held) is (there and index == 1)
        assert not has_kernels(torch.zeros(1))


def test_a_cpu_is_always_present() -> None:
    with on_device(torch.device("cpu")):
        assert torch.zeros(1).device.type == "cpu"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_cuda_device_is_present_while_a_block_runs() -> None:
    before, last = torch.cuda.current_device(), torch.cuda.device_count() - 1
    with on_device(torch.device("cuda", last)):
        assert torch.cuda.current_device() == last
    assert torch.cuda.current_device() == before
