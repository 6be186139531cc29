"""The way from features to words."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.models.generator import Readout
from regard.nn.embedding import TokenVectors

LARGEST = 2**25
"""Most logits held at a time: 128 MiB of them in float32."""


class LinearReadout(TokenVectors, Readout):
    """One vector and one bias for each token; the vectors may be those of an embedding (Press and Wolf 2017)."""

    def __init__(
        self, width: int, size: int, *, shared: TokenVectors | None = None, bias: bool = True, largest: int = LARGEST
    ) -> None:
        super().__init__(size, width, shared=shared)
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None
        self.largest = largest

    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        # Whoever joins features with others may have made them wider than the weights.
        features = features if torch.is_autocast_enabled(features.device.type) else features.to(self.weight.dtype)
        return F.linear(features, self.weight, self.bias)

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        chunk = max(1, self.largest // self.size)
        given = features.reshape(-1, self.width), self.weight, self.bias, targets.reshape(-1), chunk
        chosen, mean = _LogProbs.apply(*given)  # type: ignore[no-untyped-call]
        return chosen.view(targets.shape), mean.view(targets.shape)

    def divergence(self, first: Float[Tensor, "*rows E"], second: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows"]:
        # With p and q at a time, and in the backward pass three more matrices of their size, at most 2.5 × `largest`.
        chunk = max(1, self.largest // (2 * self.size))
        sides = first.reshape(-1, self.width), second.reshape(-1, self.width)
        found: Tensor = _Divergence.apply(*sides, self.weight, self.bias, chunk)  # type: ignore[no-untyped-call]
        return found.view(first.shape[:-1])


class _LogProbs(torch.autograd.Function):
    """Log-probability of the target, and the mean over the vocabulary, of R rows, `chunk` rows at a time.

    With l the logits, Z = log Σ exp l and p = exp(l − Z): chosen = l[target] − Z and mean = Σ l / V − Z, so that
    the gradient by l is g_chosen · onehot(target) + g_mean / V − (g_chosen + g_mean) · p. It needs the logits once
    more; they are kept if one chunk holds them all, and otherwise computed again.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        bias: Float[Tensor, " V"] | None,
        targets: Int[Tensor, " R"],
        chunk: int,
    ) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"]]:
        ctx.chunk, ctx.dtypes = chunk, (features.dtype, weight.dtype)
        narrow, ctx.wide = _formats(features)
        features, weight, bias = features.to(narrow), weight.to(narrow), None if bias is None else bias.to(narrow)
        chosen, mean, total = features.new_empty(3, len(features), dtype=ctx.wide)
        logits = None
        for start in range(0, len(features), chunk):
            rows = slice(start, start + chunk)
            logits = F.linear(features[rows], weight, bias)
            exact = logits.to(ctx.wide)
            total[rows] = exact.logsumexp(-1)
            chosen[rows] = exact.gather(-1, targets[rows, None])[:, 0] - total[rows]
            mean[rows] = exact.mean(-1) - total[rows]
        kept = logits if len(features) <= chunk else None
        ctx.save_for_backward(features, weight, bias, targets, total, kept)
        return chosen, mean

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_chosen: Float[Tensor, " R"], by_mean: Float[Tensor, " R"]) -> tuple[Tensor | None, ...]:
        features, weight, bias, targets, total, kept = ctx.saved_tensors
        of_features, of_weight, of_bias = ctx.needs_input_grad[:3]
        by_features = torch.empty_like(features)
        sums = _Sums(weight if of_weight else None, bias if of_bias else None, ctx.wide)
        for start in range(0, len(features), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            logits = kept if kept is not None else F.linear(features[rows], weight, bias)
            by_logits = (logits.to(ctx.wide) - total[rows, None]).exp_()
            by_logits.mul_(-(by_chosen + by_mean)[rows, None]).add_(by_mean[rows, None] / len(weight))
            by_logits.scatter_add_(-1, targets[rows, None], by_chosen[rows, None])
            by_logits = sums.add(by_logits, features[rows])
            if of_features:
                by_features[rows] = by_logits @ weight
        return by_features.to(ctx.dtypes[0]) if of_features else None, *sums.to(ctx.dtypes[1]), None, None


class _Divergence(torch.autograd.Function):
    """KL(p ‖ q) + KL(q ‖ p) of R pairs of rows, `chunk` pairs at a time.

    With d = log p − log q it is Σ (p − q) · d, a sum of terms none of which is negative. Its gradient by the logits of
    p is p · (d − Σ p · d) + p − q, and by those of q −(q · (d − Σ q · d) + p − q). It needs the logits once more; they
    are computed again, so that nothing of rows × vocabulary is kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        first: Float[Tensor, "R E"],
        second: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        bias: Float[Tensor, " V"] | None,
        chunk: int,
    ) -> Float[Tensor, " R"]:
        ctx.chunk, ctx.dtypes = chunk, (first.dtype, second.dtype, weight.dtype)
        narrow, ctx.wide = _formats(first)
        first, second, weight = first.to(narrow), second.to(narrow), weight.to(narrow)
        bias = None if bias is None else bias.to(narrow)
        found = first.new_empty(len(first), dtype=ctx.wide)
        for start in range(0, len(first), chunk):
            rows = slice(start, start + chunk)
            p, q = (F.linear(side[rows], weight, bias).to(ctx.wide).log_softmax(-1) for side in (first, second))
            difference = p - q
            found[rows] = p.exp_().sub_(q.exp_()).mul_(difference).sum(-1)
        ctx.save_for_backward(first, second, weight, bias)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_found: Float[Tensor, " R"]) -> tuple[Tensor | None, ...]:
        first, second, weight, bias = ctx.saved_tensors
        of_first, of_second, of_weight, of_bias = ctx.needs_input_grad[:4]
        by_first, by_second = torch.empty_like(first), torch.empty_like(second)
        sums = _Sums(weight if of_weight else None, bias if of_bias else None, ctx.wide)
        for start in range(0, len(first), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            p, q = (F.linear(side[rows], weight, bias).to(ctx.wide).log_softmax(-1) for side in (first, second))
            difference = p - q
            apart = p.exp_() - q.exp_()
            for features, mine, sign, by_features in ((first, p, 1, by_first), (second, q, -1, by_second)):
                mean = (mine * difference).sum(-1, keepdim=True)
                by_logits = (difference - mean).mul_(mine).add_(apart).mul_(sign * by_found[rows, None])
                by_logits = sums.add(by_logits, features[rows])
                by_features[rows] = by_logits @ weight
        return (
            by_first.to(ctx.dtypes[0]) if of_first else None,
            by_second.to(ctx.dtypes[1]) if of_second else None,
            *sums.to(ctx.dtypes[2]),
            None,
        )


class _Sums:
    """Gradients by weight and bias, for those that need one; exact however many chunks they are summed over."""

    def __init__(self, weight: Tensor | None, bias: Tensor | None, wide: torch.dtype) -> None:
        self.of_weight = None if weight is None else torch.zeros_like(weight, dtype=wide)
        self.of_bias = None if bias is None else torch.zeros_like(bias, dtype=wide)

    def add(self, by_logits: Float[Tensor, "R V"], features: Float[Tensor, "R E"]) -> Float[Tensor, "R V"]:
        """Adds what a chunk has to say; gives the gradient by its logits in the format of products."""
        if self.of_bias is not None:
            self.of_bias += by_logits.sum(0)
        by_logits = by_logits.to(features.dtype)
        if self.of_weight is not None:
            self.of_weight += by_logits.mT @ features
        return by_logits

    def to(self, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
        by_weight, by_bias = (None if found is None else found.to(dtype) for found in (self.of_weight, self.of_bias))
        return by_weight, by_bias


def _formats(features: Tensor) -> tuple[torch.dtype, torch.dtype]:
    """The number formats of products and of sums."""
    kind = features.device.type
    narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else features.dtype
    return narrow, torch.promote_types(narrow, torch.float32)
