"""Adaptive softmax: torch's own, and what a plain softmax over all tokens would say."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.errors import UsageError
from regard.models import AdaptiveReadout


def as_torch(readout: AdaptiveReadout) -> nn.AdaptiveLogSoftmaxWithLoss:
    """The same weights in torch's module, whose parts have no biases."""
    cutoffs = list(readout.ends[:-1])
    other = nn.AdaptiveLogSoftmaxWithLoss(readout.width, readout.size, cutoffs, div_value=2.0, head_bias=True).double()
    with torch.no_grad():
        other.head.weight.copy_(readout.head.weight)
        other.head.bias.copy_(readout.head.bias)
        for (down, up), narrow, part in zip(other.tail, readout.narrow, readout.parts, strict=True):
            down.weight.copy_(narrow.weight)
            up.weight.copy_(part.weight)
    return other


@given(st.integers(0, 99), st.sampled_from([[3], [2, 5], [1, 4, 9]]), st.integers(1, 50))
def test_the_numbers_and_gradients_of_torchs_module(seed: int, cutoffs: list[int], largest: int) -> None:
    torch.manual_seed(seed)
    readout = AdaptiveReadout(8, 10, cutoffs, shrink=2, largest=largest).double()
    nn.init.normal_(readout.head.bias)
    other = as_torch(readout)
    features, targets = torch.randn(2, 6, 8, dtype=torch.float64, requires_grad=True), torch.randint(10, (2, 6))
    chosen, mean = readout.log_probs(features, targets)
    torch.testing.assert_close(chosen.flatten(), other(features.flatten(0, 1), targets.flatten()).output)
    every = other.log_prob(features.flatten(0, 1)).view(2, 6, 10)
    torch.testing.assert_close(readout.logits(features), every)
    torch.testing.assert_close(mean, every.mean(-1))
    for mine, theirs in ((chosen, every.gather(-1, targets[..., None])), (mean, every.mean(-1))):
        (one,) = torch.autograd.grad(mine.square().sum(), features, retain_graph=True)
        (two,) = torch.autograd.grad(theirs.square().sum(), features, retain_graph=True)
        torch.testing.assert_close(one, two)


class LargestSeen(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes the size of the largest tensor that any operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        found = function(*args, **(kwargs or {}))
        for part in found if isinstance(found, tuple | list) else (found,):
            if isinstance(part, Tensor):
                self.size = max(self.size, part.numel())
        return found


def test_no_tensor_grows_with_rows_times_vocabulary() -> None:
    readout = AdaptiveReadout(16, 1000, [100, 400], largest=2000)
    features, targets = torch.randn(500, 16, requires_grad=True), torch.randint(1000, (500,))
    with LargestSeen() as seen:
        chosen, mean = readout.log_probs(features, targets)
        (chosen.sum() + mean.sum()).backward()
    assert seen.size <= max(500 * 16, 1000 * 16)


@pytest.mark.parametrize("cutoffs", [[], [5, 3], [3, 3], [0, 3], [10]])
def test_cutoffs_that_cut_nothing_are_refused(cutoffs: list[int]) -> None:
    rising = "give rising numbers between 1 and 9"
    expected = f"cutoffs = {cutoffs} do not cut a vocabulary of 10 tokens into parts; {rising}"
    with pytest.raises(UsageError, match=re.escape(expected)):
        AdaptiveReadout(8, 10, cutoffs)
