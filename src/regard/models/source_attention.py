"""Attention of a recurrent decoder to its source: one query after another, or all at once.

Coverage (See et al. 2017) is the sum of the attention to each source token so far. The paper adds it to the input of
the additive score; here it is a bias, w · coverage with w learned, so that it works with every score. The weights of
each query are available for copying.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.attention import SCORES, Attention, Memory, masks
from regard.attention.grouping import grouped_matmul
from regard.nn.stepwise_linear import StepwiseLinear, narrowed
from regard.recipe import RecurrentModel


@dataclass(frozen=True)
class Source:
    """Keys, values and mask of the source, prepared once."""

    memory: Memory
    mask: Bool[Tensor, "B 1 1 S"]
    words: Int[Tensor, "B S"] | None = None
    """The target index of each token, for copying."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        words = None if self.words is None else self.words[rows]
        return replace(self, memory=self.memory.select(rows), mask=self.mask[rows], words=words)


@dataclass(frozen=True)
class Looked:
    """The attention of n queries."""

    weights: Float[Tensor, "N n S"]
    coverage_loss: Float[Tensor, "N n"] | None = None
    """Σ min(weights, coverage) of each query (See et al. 2017)."""


class SourceAttention(Attention):
    """Single-head attention to the source, with keys prepared once.

    For a score that needs equal widths, keys are projected to the width of the queries.
    """

    def __init__(self, settings: RecurrentModel, query_width: int, key_width: int) -> None:
        make, hidden = SCORES[settings.attention.score], settings.attention.hidden
        narrow = key_width != query_width and make(1, 1, hidden=1).equal_widths
        super().__init__(
            make(query_width, query_width if narrow else key_width, hidden=hidden), settings.attention.normalizer
        )
        self.keys = nn.Linear(key_width, query_width, bias=False) if narrow else nn.Identity()
        # Initially zero, so that coverage has no effect.
        self.covered = nn.Parameter(torch.zeros(())) if settings.attention.coverage else None

    def remember(
        self, outputs: Float[Tensor, "B S C"], keep: Bool[Tensor, "B S"], words: Int[Tensor, "B S"] | None = None
    ) -> Source:
        """The encoder's outputs as keys and values."""
        values = outputs.unsqueeze(1)
        return Source(Memory(self.prepare(self.keys(values)), values), masks.padding(keep), words)

    def contexts(self, queries: Float[Tensor, "N n Dq"], source: Source) -> Float[Tensor, "N n C"]:
        """The contexts of n queries, shown to the taps."""
        return self.look(queries.unsqueeze(2), source.memory, mask=source.mask).squeeze(2)

    def weighed(
        self, queries: Float[Tensor, "N n Dq"], source: Source, bias: Float[Tensor, "N n S"] | None = None
    ) -> tuple[Float[Tensor, "N n C"], Float[Tensor, "N n S"]]:
        """The contexts and weights of n queries, shown to the taps; `bias` is added to the scores."""
        places = max(source.memory.places(queries), 1)
        memory, mask = source.memory.repeat(places), source.mask.repeat_interleave(places, 0)
        over = None if bias is None else bias.unsqueeze(1).to(queries.dtype)
        query, keys, values = self.through_taps(queries.unsqueeze(1), memory.keys, memory.values)
        weights = self._weigh(query, keys, mask, over, causal=False)
        context: Tensor = self.context(grouped_matmul(weights, values))
        return context.squeeze(1), weights.squeeze(1)


class StepwiseAttention:
    """Attention to the source with one query after another, where each query depends on the previous context.

    A tap that only records is shown all of them at once, as "N 1 n S"; one that intervenes gets each, as "N 1 1 S".
    `coverage` is the sum of the attention to each source token so far, if the model uses it.
    """

    def __init__(
        self,
        attention: SourceAttention,
        source: Source,
        rows: int,
        count: int,
        coverage: Float[Tensor, "N S"] | None = None,
    ) -> None:
        self._attention, self._source = attention, source
        self.coverage = coverage
        self._intervened = any(tap.intervened for tap in attention.taps)
        self._recorded = any(tap.recorded for tap in attention.taps)
        self._queries: list[Tensor] = []
        self._weights: list[Tensor] = []
        self._seen: list[Tensor] = []
        self._biases: list[Tensor] = []
        self._losses: list[Tensor] = []
        values = source.memory.values.squeeze(1)
        late = _LateValues.apply(values, self._weights, count, rows)  # type: ignore[no-untyped-call]
        self._values, self._late = narrowed(values.detach()), iter(late.unbind(0))
        self._mapped = self._maps(rows, count)

    def __call__(self, query: Float[Tensor, "N Dq"]) -> Float[Tensor, "N C"]:
        """The context of the next query."""
        bias = None
        if self.coverage is not None and self._attention.covered is not None:
            bias = self._attention.covered * self.coverage
        if self._intervened:
            over = None if bias is None else bias.unsqueeze(1)
            contexts, weights = self._attention.weighed(query.unsqueeze(1), self._source, over)
            self._note(weights)
            return contexts.squeeze(1)
        scores = self._scores(query)
        if bias is not None:
            scores = scores + bias.view(scores.shape).to(scores.dtype)
            self._biases.append(bias)
        weights = self._attention.normalizer(scores, self._source.mask).squeeze(1)
        self._queries.append(query)
        self._weights.append(weights.detach())
        self._note(weights)
        late = next(self._late).view(*weights.shape[:2], self._values.shape[2])
        return torch.baddbmm(late, weights, self._values).flatten(0, 1)

    def _maps(self, rows: int, count: int) -> StepwiseLinear | None:
        """Multiplies queries with the score's matrix, if it has one, with a single product for its gradient."""
        matrix = self._attention.score.query_map()
        if matrix is None or self._intervened or not torch.is_grad_enabled():
            return None
        return StepwiseLinear(narrowed(matrix.new_zeros(())).expand(count, rows, matrix.shape[1]), matrix.t())

    def _scores(self, query: Float[Tensor, "N Dq"]) -> Float[Tensor, "B 1 places S"]:
        score, keys = self._attention.score, self._source.memory.keys
        given = query if self._mapped is None else self._mapped(query)
        # Rows with the same source become queries of one row.
        folded = given.reshape(len(keys), 1, -1, given.shape[1]) if len(given) else given[:, None, None]
        return score.compare(folded, keys) if self._mapped is None else score.compare_mapped(folded, keys)

    def _note(self, weights: Float[Tensor, "B places S"]) -> None:
        self._seen.append(weights)
        if self.coverage is not None:
            wide = weights.flatten(0, 1).to(self.coverage.dtype)
            self._losses.append(torch.minimum(wide, self.coverage).sum(-1))
            self.coverage = self.coverage + wide

    def show(self) -> None:
        """Ends the sequence: shows all queries to the taps that only record."""
        if self._recorded and not self._intervened:
            with torch.no_grad():
                bias = torch.stack(self._biases, 1) if self._biases else None
                self._attention.weighed(torch.stack(self._queries, 1), self._source, bias)

    def looked(self) -> Looked:
        """The attention of all queries so far."""
        weights = torch.stack([seen.flatten(0, 1) for seen in self._seen], 1)
        return Looked(weights, torch.stack(self._losses, 1) if self._losses else None)


class _LateValues(torch.autograd.Function):
    """Zeros "n N C" that are added to contexts of detached values, and through which the values get their gradient.

    It is Σ weights · gradient of the context over all n queries, here one product instead of n that each allocate a
    tensor as large as the values. The list of weights is filled by the time of the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any, values: Float[Tensor, "B S C"], weights: list[Tensor], count: int, rows: int
    ) -> Float[Tensor, "n N C"]:
        ctx.weights, ctx.dtype = weights, values.dtype
        return narrowed(values.new_zeros(())).expand(count, rows, values.shape[-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_contexts: Float[Tensor, "n N C"]) -> tuple[Float[Tensor, "B S C"], None, None, None]:
        # With mixed precision, weights and values may have different dtypes.
        weights = torch.cat(ctx.weights, 1).to(by_contexts.dtype)
        # "n B places C" to "B n·places C", the order of the concatenated weights. Unused queries have no gradient.
        used, width = len(ctx.weights), by_contexts.shape[2]
        by_row = by_contexts[:used].reshape(used, *ctx.weights[0].shape[:2], width).transpose(0, 1).flatten(1, 2)
        return (weights.mT @ by_row).to(ctx.dtype), None, None, None
