"""Kernels of a search in Triton find what torch finds."""

import pytest
import torch
from triton_device import DEVICE, fewer, needs_triton

from regard.kernels.picking import COUNT, SIZE

pytest.importorskip("triton")
pytestmark = needs_triton


@pytest.mark.parametrize("size", fewer([5, 1030], [5, 1000, 10_000, SIZE]))
@pytest.mark.parametrize("count", fewer([5], [2, 5, COUNT]))
def test_the_likeliest_are_those_of_topk(size: int, count: int) -> None:
    from regard.kernels.cuda_beam import highest

    numbers = torch.randn(3, 4, size, device=DEVICE)
    count = min(count, size)
    numbers[0, 0, 1:] = -torch.inf
    numbers[1, 1, 3] = torch.nan
    expected, places = numbers.topk(count)
    best, found = highest(numbers, count)
    torch.testing.assert_close(best, expected, rtol=0, atol=0, equal_nan=True)
    clear = expected.isfinite()
    assert torch.equal(found[clear], places[clear])
    assert found[1, 1, 0] == 3
