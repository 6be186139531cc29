"""How a recurrent decoder looks at its source: one query after another, or all at once.

It can remember how much attention each source token got so far, its coverage (See et al. 2017). The paper adds it to
the input of the additive score; here it is a bias, w · coverage with w learned, so that every score can have it. And
where each query looked can be told, for those who copy words from there.
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
    """What attention reads, prepared once."""

    memory: Memory
    mask: Bool[Tensor, "B 1 1 S"]
    words: Int[Tensor, "B S"] | None = None
    """What each token is on the other side, for those who copy."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        words = None if self.words is None else self.words[rows]
        return replace(self, memory=self.memory.select(rows), mask=self.mask[rows], words=words)


@dataclass(frozen=True)
class Looked:
    """Where n queries looked."""

    weights: Float[Tensor, "N n S"]
    again: Float[Tensor, "N n"] | None = None
    """How much of that had been looked at before: Σ min(weights, coverage), the coverage loss of See et al. 2017."""


class SourceAttention(Attention):
    """Attention to the source for single vectors: one head, keys prepared once.

    A score that compares vectors of one width gets keys that are projected to the width of the queries.
    """

    def __init__(self, settings: RecurrentModel, query_width: int, key_width: int) -> None:
        make, hidden = SCORES[settings.attention.score], settings.attention.hidden
        narrow = key_width != query_width and make(1, 1, hidden=1).equal_widths
        super().__init__(
            make(query_width, query_width if narrow else key_width, hidden=hidden), settings.attention.normalizer
        )
        self.keys = nn.Linear(key_width, query_width, bias=False) if narrow else nn.Identity()
        # Zero: before it has learned anything, coverage has no say.
        self.covered = nn.Parameter(torch.zeros(())) if settings.attention.coverage else None

    def remember(
        self, outputs: Float[Tensor, "B S C"], keep: Bool[Tensor, "B S"], words: Int[Tensor, "B S"] | None = None
    ) -> Source:
        """The encoder's outputs as keys and values."""
        values = outputs.unsqueeze(1)
        return Source(Memory(self.prepare(self.keys(values)), values), masks.padding(keep), words)

    def contexts(self, queries: Float[Tensor, "N n Dq"], source: Source) -> Float[Tensor, "N n C"]:
        """The contexts of n queries, past the taps."""
        return self.look(queries.unsqueeze(2), source.memory, mask=source.mask).squeeze(2)

    def weighed(
        self, queries: Float[Tensor, "N n Dq"], source: Source, bias: Float[Tensor, "N n S"] | None = None
    ) -> tuple[Float[Tensor, "N n C"], Float[Tensor, "N n S"]]:
        """The contexts of n queries, past the taps, and the weights that mixed them; `bias` is added to the scores."""
        places = max(source.memory.places(queries), 1)
        memory, mask = source.memory.repeat(places), source.mask.repeat_interleave(places, 0)
        over = None if bias is None else bias.unsqueeze(1).to(queries.dtype)
        weights = self._weigh(queries.unsqueeze(1), memory.keys, mask, over, causal=False)
        context: Tensor = self.context(grouped_matmul(weights, memory.values))
        return context.squeeze(1), weights.squeeze(1)


class Glances:
    """Attention to the source with one query after another, each known only when the last has been answered.

    A tap that only records is shown all of them at once, as "N 1 n S"; one that intervenes is given each, as "N 1 1 S".
    `coverage` is the attention that each source token got before, if that counts.
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
        taps = (attention.scores, attention.weights, attention.context)
        self._intervened = any(tap.intervened for tap in taps)
        self._recorded = any(tap.recorded for tap in taps)
        self._queries: list[Tensor] = []
        self._weights: list[Tensor] = []
        self._seen: list[Tensor] = []
        self._biases: list[Tensor] = []
        self._again: list[Tensor] = []
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
        """What multiplies queries with the score's matrix, if it has one; with one product for its gradient."""
        matrix = self._attention.score.query_map()
        if matrix is None or self._intervened or not torch.is_grad_enabled():
            return None
        return StepwiseLinear(narrowed(matrix.new_zeros(())).expand(count, rows, matrix.shape[1]), matrix.t())

    def _scores(self, query: Float[Tensor, "N Dq"]) -> Float[Tensor, "B 1 places S"]:
        score, keys = self._attention.score, self._source.memory.keys
        given = query if self._mapped is None else self._mapped(query)
        # Rows that have one source are queries of one row.
        folded = given.reshape(len(keys), 1, -1, given.shape[1]) if len(given) else given[:, None, None]
        return score.compare(folded, keys) if self._mapped is None else score.compare_mapped(folded, keys)

    def _note(self, weights: Float[Tensor, "B places S"]) -> None:
        self._seen.append(weights)
        if self.coverage is not None:
            wide = weights.flatten(0, 1).to(self.coverage.dtype)
            self._again.append(torch.minimum(wide, self.coverage).sum(-1))
            self.coverage = self.coverage + wide

    def show(self) -> None:
        """Ends the sequence: the taps that only record are shown what passed."""
        if self._recorded and not self._intervened:
            with torch.no_grad():
                bias = torch.stack(self._biases, 1) if self._biases else None
                self._attention.weighed(torch.stack(self._queries, 1), self._source, bias)

    def looked(self) -> Looked:
        """Where all queries so far looked."""
        weights = torch.stack([seen.flatten(0, 1) for seen in self._seen], 1)
        return Looked(weights, torch.stack(self._again, 1) if self._again else None)


class _LateValues(torch.autograd.Function):
    """Zeros "n N C" to add to contexts mixed from detached values: through them the values get their gradient.

    It is Σ weights · gradient of the context over all n queries, here as one product instead of n that each fill a
    tensor as large as the values. The weights are known when the gradient is asked for: they are in the list by then.
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
        # Mixed precision may have left weights and values in different number formats.
        weights = torch.cat(ctx.weights, 1).to(by_contexts.dtype)
        # "n B places C" to "B n·places C", the order the weights were joined in. Queries that never came have none.
        come, width = len(ctx.weights), by_contexts.shape[2]
        by_row = by_contexts[:come].reshape(come, *ctx.weights[0].shape[:2], width).transpose(0, 1).flatten(1, 2)
        return (weights.mT @ by_row).to(ctx.dtype), None, None, None
