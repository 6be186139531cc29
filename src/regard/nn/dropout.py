"""Dropout of elements, features, words and layers; that of weights is in the recurrent cells."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.device import is_host


def drop(x: Float[Tensor, "*shape"], rate: float) -> Float[Tensor, "*shape"]:
    """Zeroes a share of the elements and scales up the others."""
    return F.dropout(x, rate) if _torch_is_fast(x) else x * dropout_mask(x, rate)


def dropout_mask(like: Float[Tensor, "*shape"], rate: float) -> Float[Tensor, "*shape"]:
    """The factors of `drop`, zero or 1 / (1 − rate), for a tensor of that shape."""
    if _torch_is_fast(like):
        return F.dropout(torch.ones_like(like), rate)
    if rate == 1:
        return torch.zeros_like(like)
    # One 64-bit draw serves four elements, which is faster than a draw for each. The rate is exact to 1 / 65,536.
    bits = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = min(max(round((1 - rate) * 2**16), 1), 2**16 - 1) - 2**15
    return bits[: like.numel()].lt_(kept).to(like.dtype).mul_(1 / (1 - rate)).view(like.shape)


def _torch_is_fast(x: Tensor) -> bool:
    """Whether torch's dropout is the fastest."""
    return not is_host(x.device) or torch.compiler.is_compiling()


class Dropout(nn.Dropout):
    """Drops elements independently."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return drop(x, self.p) if self.training and self.p else x


class FeatureDropout(nn.Module):
    """Drops features, with one mask for all time steps of a sequence (variational dropout, Gal and Ghahramani 2016), or
    with a new one at each step.

    A mask lasts for one call, or for one `steps()`: a sequence read in several pieces gets one for each.
    """

    def __init__(self, rate: float, *, variational: bool = True) -> None:
        super().__init__()
        self.rate, self.variational = rate, variational

    @property
    def active(self) -> bool:
        return self.training and self.rate > 0

    def forward(self, x: Float[Tensor, "N T E"]) -> Float[Tensor, "N T E"]:
        if not self.active:
            return x
        return x * dropout_mask(x[:, :1], self.rate) if self.variational else drop(x, self.rate)

    def steps(self) -> Callable[[Tensor], Tensor]:
        """The same for vectors that come step by step, each "N E"."""
        if not self.active:
            return _unchanged
        if not self.variational:
            return lambda x: drop(x, self.rate)
        masks: list[Tensor] = []

        def masked(x: Tensor) -> Tensor:
            if not masks:
                masks.append(dropout_mask(x, self.rate))
            return x * masks[0]

        return masked


class WordDropout(nn.Module):
    """Drops whole embeddings: all occurrences of a word in a row, or none (Gal and Ghahramani 2016).

    They are replaced by zeros and the rest is scaled up; or they are replaced by `blank` and nothing is scaled.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    @property
    def active(self) -> bool:
        return self.training and self.rate > 0

    def forward(
        self, vectors: Float[Tensor, "N T E"], tokens: Int[Tensor, "N T"], blank: Float[Tensor, " E"] | None = None
    ) -> Float[Tensor, "N T E"]:
        if not self.active:
            return vectors
        # Each position shares the mask of the first with the same token: no mask over the whole vocabulary.
        first = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).to(torch.uint8).argmax(2)
        mask = dropout_mask(vectors[..., 0], self.rate).gather(1, first)
        return vectors * mask.unsqueeze(2) if blank is None else torch.where(mask.unsqueeze(2) > 0, vectors, blank)


class LayerDrop(nn.Module):
    """Skips a layer in training (Fan et al. 2020), for each row independently.

    As in the paper, nothing is scaled up. There a whole batch skips a layer, which saves time; here the device draws
    for each row, which works in captured steps and gives a batch's gradient less variance.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, stream: Float[Tensor, "N T E"], layer: Callable[[Tensor], Tensor]) -> Float[Tensor, "N T E"]:
        if not (self.training and self.rate > 0):
            return layer(stream)
        applied = torch.rand(len(stream), 1, 1, device=stream.device) >= self.rate
        return torch.where(applied, layer(stream), stream)


def _unchanged(x: Tensor) -> Tensor:
    return x
