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
        return F.linear(features, self.weight, self.bias)

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        chunk = max(1, self.largest // self.size)
        given = features.reshape(-1, self.width), self.weight, self.bias, targets.reshape(-1), chunk
        chosen, mean = _LogProbs.apply(*given)  # type: ignore[no-untyped-call]
        return chosen.view(targets.shape), mean.view(targets.shape)


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
        kind = features.device.type
        narrow = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else features.dtype
        wide = torch.promote_types(narrow, torch.float32)
        ctx.chunk, ctx.wide, ctx.dtypes = chunk, wide, (features.dtype, weight.dtype)
        features, weight, bias = features.to(narrow), weight.to(narrow), None if bias is None else bias.to(narrow)
        chosen, mean, total = features.new_empty(3, len(features), dtype=wide)
        logits = None
        for start in range(0, len(features), chunk):
            rows = slice(start, start + chunk)
            logits = F.linear(features[rows], weight, bias)
            exact = logits.to(wide)
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
        # Sums over rows stay exact however many chunks there are.
        by_weight = torch.zeros_like(weight, dtype=ctx.wide) if of_weight else None
        by_bias = torch.zeros_like(bias, dtype=ctx.wide) if of_bias else None
        for start in range(0, len(features), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            logits = kept if kept is not None else F.linear(features[rows], weight, bias)
            by_logits = (logits.to(ctx.wide) - total[rows, None]).exp_()
            by_logits.mul_(-(by_chosen + by_mean)[rows, None]).add_(by_mean[rows, None] / len(weight))
            by_logits.scatter_add_(-1, targets[rows, None], by_chosen[rows, None])
            if by_bias is not None:
                by_bias += by_logits.sum(0)
            by_logits = by_logits.to(features.dtype)
            if of_features:
                by_features[rows] = by_logits @ weight
            if by_weight is not None:
                by_weight += by_logits.mT @ features[rows]
        return (
            by_features.to(ctx.dtypes[0]) if of_features else None,
            None if by_weight is None else by_weight.to(ctx.dtypes[1]),
            None if by_bias is None else by_bias.to(ctx.dtypes[1]),
            None,
            None,
        )
