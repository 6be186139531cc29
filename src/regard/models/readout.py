"""The linear readout and its memory-bounded losses."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.device import autocast_dtype, fast_multiple, is_asynchronous
from regard.models.generator import Readout
from regard.nn.embedding import TokenVectors

LARGEST = 2**26
"""Most logits in memory at a time: 256 MiB in float32."""

CACHED = 2**22
"""Logits that fit into a processor's cache: 16 MiB in float32. With fewer, products would be slower."""

FEWEST = 64
"""With fewer rows, a product takes longer to pack the weights than to multiply them."""


class LinearReadout(TokenVectors, Readout):
    """One vector and one bias for each token; the vectors may be those of an embedding (Press and Wolf 2017)."""

    def __init__(
        self, width: int, size: int, *, shared: TokenVectors | None = None, bias: bool = True, largest: int = LARGEST
    ) -> None:
        super().__init__(size, width, shared=shared)
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None
        self.largest = largest
        self.totals, self.gradient = LogitTotals(), LogitGradient()
        self.kl, self.kl_gradient = SymmetricKL(), KLGradient()

    def logits(self, features: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows V"]:
        weight = self.weight
        if features.dtype != weight.dtype and autocast_dtype(features) is None:
            features = features.to(weight.dtype)  # concatenation with other features may have widened them
        return F.linear(features, weight, self.bias)

    def log_probs(
        self, features: Float[Tensor, "*rows E"], targets: Int[Tensor, "*rows"]
    ) -> tuple[Float[Tensor, "*rows"], Float[Tensor, "*rows"]]:
        chunk = max(1, self.largest // self.size)
        given = features.reshape(-1, self.width), self.weight, self.bias, targets.reshape(-1), chunk
        chosen, mean = _LogProbs.apply(*given, self.totals, self.gradient)  # type: ignore[no-untyped-call]
        return chosen.view(targets.shape), mean.view(targets.shape)

    def cost(
        self,
        features: Float[Tensor, "*rows E"],
        targets: Int[Tensor, "*rows"],
        keep: Bool[Tensor, "*rows"],
        label_smoothing: float,
    ) -> Float[Tensor, ""]:
        # On an asynchronous device the host would have to wait for the number of rows that are kept.
        if is_asynchronous(features.device) or not torch.is_grad_enabled():
            return super().cost(features, targets, keep, label_smoothing)
        given = features.reshape(-1, self.width), self.weight, self.bias, targets.reshape(-1), keep.reshape(-1)
        found: Tensor = _Cost.apply(*given, label_smoothing)  # type: ignore[no-untyped-call]
        return found

    def divergence(self, first: Float[Tensor, "*rows E"], second: Float[Tensor, "*rows E"]) -> Float[Tensor, "*rows"]:
        # p and q, and in the backward pass three more matrices of their size, take at most 2.5 × `largest`.
        chunk = max(1, self.largest // (2 * self.size))
        sides = first.reshape(-1, self.width), second.reshape(-1, self.width)
        parts = self.weight, self.bias, chunk, self.kl, self.kl_gradient
        found: Tensor = _Divergence.apply(*sides, *parts)  # type: ignore[no-untyped-call]
        return found.view(first.shape[:-1])


class LogitTotals(nn.Module):
    """For rows of logits l, with Z = log Σ exp l: l[target] − Z, Σ l / V − Z, and Z. Logits beyond V are padding and
    must be −inf.

    This and its gradient are modules so that they can be compiled, which keeps float32 logits out of memory.
    """

    def forward(
        self, logits: Float[Tensor, "R W"], targets: Int[Tensor, " R"], wide: torch.dtype, size: int
    ) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"], Float[Tensor, " R"]]:
        exact = logits.to(wide)
        # In eager mode, torch has one kernel for log_softmax and five for logsumexp.
        compiling = torch.compiler.is_compiling()
        total = exact.logsumexp(-1) if compiling else exact[:, 0] - exact.log_softmax(-1)[:, 0]
        return exact.gather(-1, targets[:, None])[:, 0] - total, exact[:, :size].mean(-1) - total, total


class LogitGradient(nn.Module):
    """The gradient by the logits, g_chosen · onehot(target) + g_mean / V − (g_chosen + g_mean) · exp(l − Z), in their
    dtype, and its sum over rows, if `summed`. g_mean may be None for zero. The gradient by padding is arbitrary."""

    def forward(
        self,
        logits: Float[Tensor, "R W"],
        targets: Int[Tensor, " R"],
        total: Float[Tensor, " R"],
        by_chosen: Float[Tensor, " R"],
        by_mean: Float[Tensor, " R"] | None,
        summed: bool,
        size: int,
    ) -> tuple[Float[Tensor, "R W"], Float[Tensor, " W"] | None]:
        by_logits = torch.sub(logits, total[:, None]).exp_()  # in the wider dtype of the two
        if by_mean is None:
            by_logits.mul_(-by_chosen[:, None])
        else:
            by_logits.mul_(-(by_chosen + by_mean)[:, None]).add_(by_mean[:, None] / size)
        if torch.compiler.is_compiling():
            # Fused with the rest; a scatter would be two more passes.
            places = torch.arange(logits.shape[1], device=logits.device)
            by_logits = by_logits + torch.where(places == targets[:, None], by_chosen[:, None], 0.0)
        else:
            by_logits.scatter_add_(-1, targets[:, None], by_chosen[:, None])
        return by_logits.to(logits.dtype), by_logits.sum(0) if summed else None


class _LogProbs(torch.autograd.Function):
    """Log-probability of the target, and the mean over the vocabulary, of R rows, `chunk` rows at a time.

    The logits are saved for the backward pass if they take no more memory than a chunk in the dtype of sums, and
    recomputed otherwise.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        bias: Float[Tensor, " V"] | None,
        targets: Int[Tensor, " R"],
        chunk: int,
        totals: LogitTotals,
        gradient: LogitGradient,
    ) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"]]:
        ctx.chunk, ctx.dtypes, ctx.gradient = chunk, (features.dtype, weight.dtype), gradient
        ctx.set_materialize_grads(False)
        narrow, ctx.wide = _dtypes(features)
        ctx.size = len(weight)
        weight, bias = _padded(weight, bias, narrow, fast_multiple(features))
        features = features.to(narrow)
        chosen, mean, total = features.new_empty(3, len(features), dtype=ctx.wide)
        all_fit = len(features) <= chunk * (ctx.wide.itemsize // narrow.itemsize)
        saved = F.linear(features, weight, bias) if all_fit else None
        for start in range(0, len(features), chunk):
            rows = slice(start, start + chunk)
            logits = F.linear(features[rows], weight, bias) if saved is None else saved[rows]
            chosen[rows], mean[rows], total[rows] = totals(logits, targets[rows], ctx.wide, ctx.size)
        ctx.save_for_backward(features, weight, bias, targets, total, saved)
        return chosen, mean

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, by_chosen: Float[Tensor, " R"] | None, by_mean: Float[Tensor, " R"] | None
    ) -> tuple[Tensor | None, ...]:
        features, weight, bias, targets, total, saved = ctx.saved_tensors
        by_chosen = torch.zeros_like(total) if by_chosen is None else by_chosen
        of_features, of_weight, of_bias = ctx.needs_input_grad[:3]
        by_features = torch.empty_like(features)
        sums = _Sums(weight if of_weight else None, bias if of_bias else None, ctx.wide)
        for start in range(0, len(features), ctx.chunk):
            rows = slice(start, start + ctx.chunk)
            logits = F.linear(features[rows], weight, bias) if saved is None else saved[rows]
            given = targets[rows], total[rows], by_chosen[rows], None if by_mean is None else by_mean[rows]
            by_logits, summed = ctx.gradient(logits, *given, of_bias, ctx.size)
            sums.add(by_logits, summed, features[rows])
            if of_features:
                by_features[rows] = by_logits @ weight
        found = by_features.to(ctx.dtypes[0]) if of_features else None, *sums.to(ctx.dtypes[1], ctx.size)
        return *found, None, None, None, None


class _Cost(torch.autograd.Function):
    """The cost of the rows that are kept, with label smoothing ε, and in the same pass its gradient: by the logits it
    is p − (1 − ε) · onehot(target) − ε / V.

    So logits are neither saved nor recomputed, and each chunk stays in the processor's cache.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        bias: Float[Tensor, " V"] | None,
        targets: Int[Tensor, " R"],
        keep: Bool[Tensor, " R"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        narrow, wide = _dtypes(features)
        size, dtype = weight.shape[0], weight.dtype
        of_features, of_weight, of_bias = ctx.needs_input_grad[:3]
        weight, bias = _padded(weight, bias, narrow, 1)
        cost = features.new_zeros((), dtype=wide)
        by_features = torch.zeros_like(features) if of_features else None
        sums = _Sums(weight if of_weight else None, bias if of_bias else None, wide)
        pieces = torch.split(keep.nonzero()[:, 0], max(FEWEST, CACHED // size))
        logits = features.new_empty(len(pieces[0]), size, dtype=narrow)  # one buffer, which stays in the cache
        for rows in pieces:
            read, wanted = features[rows].to(narrow), targets[rows, None]
            found = torch.mm(read, weight.t(), out=logits[: len(rows)]).to(wide)
            if bias is not None:
                found += bias
            torch.log_softmax(found, -1, out=found)  # in place, so that it fits into the cache
            of_target = found.gather(1, wanted)
            cost -= (torch.lerp(of_target[:, 0], found.mean(1), smoothing) if smoothing else of_target).sum()
            found.exp_().sub_(smoothing / size).scatter_add_(1, wanted, torch.full_like(of_target, smoothing - 1))
            by_logits = found.to(narrow)
            sums.add(by_logits, found.sum(0) if of_bias else None, read)
            if by_features is not None:
                by_features[rows] = (by_logits @ weight).to(features.dtype)
        ctx.save_for_backward(by_features, *sums.to(dtype, size))
        return cost

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_cost: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        found = (None if saved is None else saved * by_cost.to(saved.dtype) for saved in ctx.saved_tensors)
        return *found, None, None, None


class SymmetricKL(nn.Module):
    """KL(p ‖ q) + KL(q ‖ p) of rows of logits: with d = log p − log q it is Σ (p − q) · d, whose terms are all ≥ 0."""

    def forward(
        self, first: Float[Tensor, "R V"], second: Float[Tensor, "R V"], wide: torch.dtype
    ) -> Float[Tensor, " R"]:
        p, q = (logits.to(wide).log_softmax(-1) for logits in (first, second))
        difference = p - q
        return p.exp_().sub_(q.exp_()).mul_(difference).sum(-1)


class KLGradient(nn.Module):
    """Its gradient by the logits of p, p · (d − Σ p · d) + p − q, and by those of q, −(q · (d − Σ q · d) + p − q), in
    their dtype, and the sums of these over rows, if `summed`."""

    def forward(
        self, first: Float[Tensor, "R V"], second: Float[Tensor, "R V"], by_found: Float[Tensor, " R"], summed: bool
    ) -> list[tuple[Float[Tensor, "R V"], Float[Tensor, " V"] | None]]:
        p, q = (logits.to(by_found.dtype).log_softmax(-1) for logits in (first, second))
        difference = p - q
        p_minus_q = p.exp_() - q.exp_()
        found = []
        for side, sign in ((p, 1), (q, -1)):
            mean = (side * difference).sum(-1, keepdim=True)
            by_logits = (difference - mean).mul_(side).add_(p_minus_q).mul_(sign * by_found[:, None])
            found.append((by_logits.to(first.dtype), by_logits.sum(0) if summed else None))
        return found


class _Divergence(torch.autograd.Function):
    """The symmetric KL divergence of R pairs of rows, `chunk` pairs at a time.

    The backward pass recomputes the logits, so that nothing of size rows × vocabulary is saved.
    """

    @staticmethod
    def forward(
        ctx: Any,
        first: Float[Tensor, "R E"],
        second: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        bias: Float[Tensor, " V"] | None,
        chunk: int,
        kl: SymmetricKL,
        gradient: KLGradient,
    ) -> Float[Tensor, " R"]:
        ctx.chunk, ctx.dtypes, ctx.gradient = chunk, (first.dtype, second.dtype, weight.dtype), gradient
        narrow, ctx.wide = _dtypes(first)
        first, second, weight = first.to(narrow), second.to(narrow), weight.to(narrow)
        bias = None if bias is None else bias.to(narrow)
        found = first.new_empty(len(first), dtype=ctx.wide)
        for start in range(0, len(first), chunk):
            rows = slice(start, start + chunk)
            found[rows] = kl(*(F.linear(side[rows], weight, bias) for side in (first, second)), ctx.wide)
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
            logits = (F.linear(side[rows], weight, bias) for side in (first, second))
            gradients = ctx.gradient(*logits, by_found[rows], of_bias)
            sides = (first, by_first), (second, by_second)
            for (by_logits, summed), (features, by_features) in zip(gradients, sides, strict=True):
                sums.add(by_logits, summed, features[rows])
                by_features[rows] = by_logits @ weight
        return (
            by_first.to(ctx.dtypes[0]) if of_first else None,
            by_second.to(ctx.dtypes[1]) if of_second else None,
            *sums.to(ctx.dtypes[2], len(weight)),
            None,
            None,
            None,
        )


class _Sums:
    """Gradients by weight and bias, if needed, accumulated over chunks in the wide dtype."""

    def __init__(self, weight: Tensor | None, bias: Tensor | None, wide: torch.dtype) -> None:
        self.of_weight = None if weight is None else torch.zeros_like(weight, dtype=wide)
        self.of_bias = None if bias is None else torch.zeros_like(bias, dtype=wide)

    def add(
        self,
        by_logits: Float[Tensor, "R W"],
        summed: Float[Tensor, " W"] | None,
        features: Float[Tensor, "R E"],
    ) -> None:
        """Adds a chunk: the gradient by its logits, and its sum over rows if there is a bias."""
        if self.of_bias is not None and summed is not None:
            self.of_bias += summed
        if self.of_weight is not None:
            if self.of_weight.dtype == by_logits.dtype:
                self.of_weight.addmm_(by_logits.mT, features)
            else:
                self.of_weight += by_logits.mT @ features

    def to(self, dtype: torch.dtype, size: int) -> tuple[Tensor | None, Tensor | None]:
        """Both without padding, in a dtype."""
        both = (None if found is None else found[:size].to(dtype) for found in (self.of_weight, self.of_bias))
        by_weight, by_bias = both
        return by_weight, by_bias


def _padded(
    weight: Float[Tensor, "V E"], bias: Float[Tensor, " V"] | None, dtype: torch.dtype, multiple: int
) -> tuple[Float[Tensor, "W E"], Float[Tensor, " W"] | None]:
    """Both in a dtype, padded with impossible tokens to a multiple."""
    more = -len(weight) % multiple
    weight, bias = weight.to(dtype), None if bias is None else bias.to(dtype)
    if not more:
        return weight, bias
    bias = weight.new_zeros(len(weight)) if bias is None else bias
    return F.pad(weight, (0, 0, 0, more)), F.pad(bias, (0, more), value=-torch.inf)


def _dtypes(features: Tensor) -> tuple[torch.dtype, torch.dtype]:
    """The dtypes of products and of sums."""
    narrow = autocast_dtype(features) or features.dtype
    return narrow, torch.promote_types(narrow, torch.float32)
