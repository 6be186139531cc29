"""What a hypothesis is worth: the length and coverage penalties, and the best finished hypotheses of each search."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LEAST_COVERAGE = 1e-6
"""Attention counted for a source token that got less: sparse attention may give none, whose logarithm is not finite."""


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search."""

    tokens: tuple[int, ...]
    """What was written, a forced prefix included, END not."""
    score: float
    """What it is ranked by: the log-probability with its penalties."""
    log_prob: float
    """Sum of the log-probabilities the model gives to the tokens and, if it is finished, to END."""
    finished: bool
    """Whether the model ended it; otherwise the length limit did, or every continuation was forbidden."""


@dataclass(frozen=True)
class Ranking:
    """log P / length ** length_penalty + coverage_penalty × Σ_source log(min(attention, 1)).

    The coverage is that of Wu et al. 2016, whose length is (5 + length) / 6. Here it is the number of tokens that have
    a probability: those written, and END.
    """

    length_penalty: float
    coverage_penalty: float

    def score(
        self,
        log_probs: Float[Tensor, "B beam"],
        length: int,
        coverage: Float[Tensor, "B beam S"] | None,
        keep: Bool[Tensor, "B S"],
    ) -> Float[Tensor, "B beam"]:
        """Scores of hypotheses that are all `length` long; `coverage` is the attention each source token got in all."""
        scores = log_probs / float(max(length, 1) ** self.length_penalty)
        if coverage is None:
            return scores
        covered = coverage.clamp(LEAST_COVERAGE, 1.0).log().masked_fill(~keep[:, None], 0.0)
        return scores + self.coverage_penalty * covered.sum(-1)

    def bound(self, log_probs: Float[Tensor, " B"], longest: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """A score that nothing grown from hypotheses of at most these log-probabilities can exceed.

        Each further token has a log-probability of at most 0, so the sum can only fall. A negative sum is divided
        by a power of the length, so it is worth most at the greatest length there can be: `longest` tokens and
        END. The coverage penalty is never positive.
        """
        return log_probs / (longest + 1).float().pow(self.length_penalty)


@dataclass(frozen=True)
class Finished:
    """The best hypotheses that B searches have finished, best first; places not yet taken have the score -inf."""

    scores: Float[Tensor, "B beam"]
    log_probs: Float[Tensor, "B beam"]
    lengths: Int[Tensor, "B beam"]
    tokens: Int[Tensor, "B beam T"]
    ended: Bool[Tensor, "B beam"]

    @classmethod
    def none(cls, searches: int, beam: int, capacity: int, device: torch.device) -> Self:
        scores = torch.full((searches, beam), -torch.inf, device=device)
        lengths = torch.zeros(searches, beam, dtype=torch.long, device=device)
        tokens = torch.zeros(searches, beam, capacity, dtype=torch.long, device=device)
        return cls(scores, scores, lengths, tokens, torch.zeros_like(scores, dtype=torch.bool))

    @classmethod
    def of(
        cls,
        scores: Float[Tensor, "B beam"],
        log_probs: Float[Tensor, "B beam"],
        tokens: Int[Tensor, "B beam T"],
        length: int,
        ended: bool,
    ) -> Self:
        """Hypotheses of one length, in any order; those with a log-probability of -inf are no hypotheses."""
        there = log_probs > -torch.inf
        lengths = torch.full_like(there, length, dtype=torch.long)
        return cls(scores.masked_fill(~there, -torch.inf), log_probs, lengths, tokens, torch.full_like(there, ended))

    @property
    def free(self) -> Int[Tensor, " B"]:
        """How many places are not taken."""
        return (self.scores == -torch.inf).sum(1)

    def merge(self, others: Self) -> Self:
        """The best of both; at equal scores those that were here first."""
        both = self._each(lambda mine, theirs: torch.cat([mine, theirs], 1), others)
        return both._best(self.scores.shape[1])

    def or_else(self, unfinished: Self) -> Self:
        """The same, with unfinished hypotheses, best first, for those searches that have finished none."""
        empty = self.scores[:, 0] == -torch.inf
        others = unfinished._best(self.scores.shape[1])
        return self._each(lambda mine, theirs: torch.where(_like(empty[:, None], mine), theirs, mine), others)

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return self._each(lambda mine: mine[searches])

    def _best(self, count: int) -> Self:
        # Not topk, which may order equal scores as it likes.
        order = self.scores.argsort(dim=1, descending=True, stable=True)[:, :count]
        return self._each(lambda mine: mine.gather(1, _like(order, mine).expand(-1, -1, *mine.shape[2:])))

    def _each(self, function: Callable[..., Tensor], *others: Self) -> Self:
        """A function of each field and the same field of the others."""
        return type(self)(*(function(*(getattr(one, field.name) for one in (self, *others))) for field in fields(self)))

    def lists(self, n_best: int) -> list[list[Hypothesis]]:
        """At most `n_best` hypotheses of each search, off the device."""
        columns = zip(*(getattr(self, field.name)[:, :n_best].tolist() for field in fields(self)), strict=True)
        return [
            [
                Hypothesis(tuple(tokens[:length]), score, log_prob, ended)
                for score, log_prob, length, tokens, ended in zip(*search, strict=True)
                if score > -torch.inf
            ]
            for search in columns
        ]


def _like(index: Tensor, field: Tensor) -> Tensor:
    """An index of hypotheses with the axes of a field, which may have one more, for tokens."""
    return index if field.ndim == 2 else index[..., None]
