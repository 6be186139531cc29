"""What a hypothesis is worth: the length and coverage penalties, and the finished hypotheses of each search."""

from dataclasses import dataclass, fields
from typing import Self, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

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
        length: int | Int[Tensor, "B 1"],
        coverage: Float[Tensor, "B beam S"] | None,
        keep: Bool[Tensor, "B S"],
    ) -> Float[Tensor, "B beam"]:
        """Scores of hypotheses of these lengths; `coverage` is the attention each source token got in all."""
        scores = log_probs / self.worth(length)
        if coverage is None:
            return scores
        covered = coverage.clamp(LEAST_COVERAGE, 1.0).log().masked_fill(~keep[:, None], 0.0)
        return scores + self.coverage_penalty * covered.sum(-1)

    def worth(self, length: int | Int[Tensor, "*B"]) -> float | Float[Tensor, "*B"]:
        """What the log-probability of an output of this length is divided by."""
        if isinstance(length, int):
            return float(max(length, 1) ** self.length_penalty)
        return length.clamp(min=1).double().pow(self.length_penalty).float()

    def bound(self, longest: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """A score that nothing grown from a hypothesis can exceed is its log-probability divided by this.

        Each further token has a log-probability of at most 0, so the sum can only fall. A negative sum is divided
        by a power of the length, so it is worth most at the greatest length there can be: `longest` tokens and
        END. The coverage penalty is never positive.
        """
        return cast(Tensor, self.worth(longest + 1))


@dataclass(frozen=True)
class Finished:
    """The best `beam` hypotheses that each of B searches has finished, best first, written into the same memory."""

    scores: Float[Tensor, "B beam"]
    """-inf where there is none yet."""
    log_probs: Float[Tensor, "B beam"]
    lengths: Int[Tensor, "B beam"]
    tokens: Int[Tensor, "B beam T"]
    count: Int[Tensor, " B"]
    """How many there have been in all."""

    @classmethod
    def none(cls, searches: int, beam: int, room: int, device: torch.device) -> Self:
        scores = torch.full((searches, beam), -torch.inf, device=device)
        lengths = torch.zeros(searches, beam, dtype=torch.long, device=device)
        tokens, count = lengths.new_zeros(searches, beam, room), lengths.new_zeros(searches)
        return cls(scores, scores.clone(), lengths, tokens, count)

    @property
    def empty(self) -> Bool[Tensor, " B"]:
        """Where there is none."""
        return self.count == 0

    def add(
        self,
        scores: Float[Tensor, "B beam"],
        log_probs: Float[Tensor, "B beam"],
        length: int | Int[Tensor, "B beam"],
        tokens: Int[Tensor, "B beam t"],
    ) -> None:
        """Takes hypotheses, of which those with a log-probability of -inf are none."""
        there = log_probs > -torch.inf
        every = torch.cat([self.scores, scores.masked_fill(~there, -torch.inf)], 1)
        # Not topk, which may order equal scores as it likes: those that were there first come first.
        order = every.argsort(dim=1, descending=True, stable=True)[:, : self.scores.shape[1]]
        lengths = self.lengths.new_full(scores.shape, length) if isinstance(length, int) else length
        tokens = F.pad(tokens, (0, self.tokens.shape[2] - tokens.shape[2]))
        self.scores.copy_(every.gather(1, order))
        for kept, new in ((self.log_probs, log_probs), (self.lengths, lengths), (self.tokens, tokens)):
            index = order if kept.ndim == 2 else order[..., None].expand(kept.shape)
            kept.copy_(torch.cat([kept, new], 1).gather(1, index))
        self.count.add_(there.sum(1))

    def best(self, rank: int) -> Float[Tensor, " B"]:
        """The score of the hypothesis of this rank, counted from 1."""
        return self.scores[:, rank - 1]

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return type(self)(*(getattr(self, field.name)[searches] for field in fields(self)))

    def lists(self, n_best: int, *, finished: bool) -> list[list[Hypothesis]]:
        """At most `n_best` hypotheses of each search, best first, at equal scores the first that was finished."""
        sides = self.scores, self.log_probs, self.lengths, self.tokens
        return [
            [
                Hypothesis(tuple(tokens[:length]), score, log_prob, finished)
                for score, log_prob, length, tokens in zip(*search, strict=True)
                if score > -torch.inf
            ]
            for search in zip(*(side[:, :n_best].tolist() for side in sides), strict=True)
        ]
