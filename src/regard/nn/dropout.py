"""Dropout of numbers, features, words and layers; that of weights acts inside a recurrent cell."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


def drop(x: Float[Tensor, "*shape"], rate: float) -> Float[Tensor, "*shape"]:
    """Zeros in place of a share of the numbers; the others are scaled up in return."""
    return F.dropout(x, rate) if _torch_is_fast(x) else x * chances(x, rate)


def chances(like: Float[Tensor, "*shape"], rate: float) -> Float[Tensor, "*shape"]:
    """What `drop` multiplies by, zero or 1 / (1 − rate), for a tensor of that shape."""
    if _torch_is_fast(like):
        return F.dropout(torch.ones_like(like), rate)
    if rate == 1:
        return torch.zeros_like(like)
    # Of 64 random bits four numbers get 16 each, which takes less time than a draw for each. The share is exact to
    # 1 / 65,536.
    bits = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = min(max(round((1 - rate) * 2**16), 1), 2**16 - 1) - 2**15
    return bits[: like.numel()].lt_(kept).to(like.dtype).mul_(1 / (1 - rate)).view(like.shape)


def _torch_is_fast(x: Tensor) -> bool:
    """Whether torch draws chances as fast as anyone can."""
    return x.device.type != "cpu" or torch.compiler.is_compiling()


class Dropout(nn.Dropout):
    """Drops numbers, each by a chance of its own."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return drop(x, self.p) if self.training and self.p else x


class FeatureDropout(nn.Module):
    """Drops features of vectors, with one mask for all time steps of a sequence (variational dropout, Gal and
    Ghahramani 2016), or with a new one at each step.

    A mask lasts for one call, or for one `steps()`: a sequence that is cut into several pieces gets one for each.
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
        return x * chances(x[:, :1], self.rate) if self.variational else drop(x, self.rate)

    def steps(self) -> Callable[[Tensor], Tensor]:
        """The same for vectors that come step by step, each "N E"."""
        if not self.active:
            return _unchanged
        if not self.variational:
            return lambda x: drop(x, self.rate)
        masks: list[Tensor] = []

        def masked(x: Tensor) -> Tensor:
            if not masks:
                masks.append(chances(x, self.rate))
            return x * masks[0]

        return masked


class WordDropout(nn.Module):
    """Drops whole embeddings: in a row, a word is there or not there at all of its places (Gal and Ghahramani 2016).

    Zeros stand in place of what is dropped, and the rest is scaled up; or, where a `blank` is given, that does, and
    nothing is scaled.
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
        # Each place takes the chance of the first place with the same token: no mask over the whole vocabulary.
        first = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).to(torch.uint8).argmax(2)
        kept = chances(vectors[..., 0], self.rate).gather(1, first)
        return vectors * kept.unsqueeze(2) if blank is None else torch.where(kept.unsqueeze(2) > 0, vectors, blank)


class LayerDrop(nn.Module):
    """Lets sequences skip a layer in training (Fan et al. 2020): each row by a chance of its own.

    As in the paper nothing is scaled up in return. There a whole batch skips a layer, which saves its time; here the
    device draws, row by row, so that the host need not know (a captured step does the same work each time), and the
    gradient of a batch varies less.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, stream: Float[Tensor, "N T E"], layer: Callable[[Tensor], Tensor]) -> Float[Tensor, "N T E"]:
        if not (self.training and self.rate > 0):
            return layer(stream)
        taken = torch.rand(len(stream), 1, 1, device=stream.device) >= self.rate
        return torch.where(taken, layer(stream), stream)


def _unchanged(x: Tensor) -> Tensor:
    return x
