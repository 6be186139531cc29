"""Scores of hypotheses (length and coverage penalties), and the finished hypotheses of each search."""

from dataclasses import dataclass, fields
from typing import Self, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

LEAST_COVERAGE = 1e-6
"""Lower bound of a source token's attention: sparse attention can be zero, whose logarithm is -inf."""


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search."""

    tokens: tuple[int, ...]
    """The output, with its forced prefix and without END."""
    score: float
    """The log-probability with penalties, by which hypotheses are ranked."""
    log_prob: float
    """Sum of the log-probabilities of the tokens and, if it is finished, of END."""
    finished: bool
    """True if the model generated END; False if the length limit or the constraints stopped it."""


@dataclass(frozen=True)
class Ranking:
    """log P / length ** length_penalty + coverage_penalty × Σ_source log(min(attention, 1)).

    The coverage penalty is that of Wu et al. 2016. Their length is (5 + length) / 6; here it is the number of tokens,
    END included.
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
        """Scores of hypotheses of these lengths; `coverage` is the total attention each source token got."""
        scores = log_probs / self.divisor(length)
        if coverage is None:
            return scores
        covered = coverage.clamp(LEAST_COVERAGE, 1.0).log().masked_fill(~keep[:, None], 0.0)
        return scores + self.coverage_penalty * covered.sum(-1)

    def divisor(self, length: int | Int[Tensor, "*B"]) -> float | Float[Tensor, "*B"]:
        """Divisor of the log-probability of an output of this length."""
        if isinstance(length, int):
            return float(max(length, 1) ** self.length_penalty)
        return length.clamp(min=1).double().pow(self.length_penalty).float()

    def bound(self, longest: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """Divisor that turns a hypothesis's log-probability into an upper bound of the scores it can lead to.

        Further tokens can only lower the log-probability. It is negative, so its quotient is highest at the greatest
        possible length, `longest` tokens and END. The coverage penalty is never positive.
        """
        return cast(Tensor, self.divisor(longest + 1))


@dataclass(frozen=True)
class Finished:
    """The best `beam` finished hypotheses of each of B searches, best first; updated in place."""

    scores: Float[Tensor, "B beam"]
    """-inf in empty slots."""
    log_probs: Float[Tensor, "B beam"]
    lengths: Int[Tensor, "B beam"]
    tokens: Int[Tensor, "B beam T"]
    count: Int[Tensor, " B"]
    """How many have finished so far, including those no longer among the best."""

    @classmethod
    def none(cls, searches: int, beam: int, room: int, device: torch.device) -> Self:
        scores = torch.full((searches, beam), -torch.inf, device=device)
        lengths = torch.zeros(searches, beam, dtype=torch.long, device=device)
        tokens, count = lengths.new_zeros(searches, beam, room), lengths.new_zeros(searches)
        return cls(scores, scores.clone(), lengths, tokens, count)

    @property
    def empty(self) -> Bool[Tensor, " B"]:
        return self.count == 0

    def add(
        self,
        scores: Float[Tensor, "B beam"],
        log_probs: Float[Tensor, "B beam"],
        length: int | Int[Tensor, "B beam"],
        tokens: Int[Tensor, "B beam t"],
    ) -> None:
        """Adds hypotheses; those with a log-probability of -inf are empty slots."""
        valid = log_probs > -torch.inf
        every = torch.cat([self.scores, scores.masked_fill(~valid, -torch.inf)], 1)
        # Not topk, which is not stable: of equal scores the one that finished first stays first.
        order = every.argsort(dim=1, descending=True, stable=True)[:, : self.scores.shape[1]]
        lengths = self.lengths.new_full(scores.shape, length) if isinstance(length, int) else length
        tokens = F.pad(tokens, (0, self.tokens.shape[2] - tokens.shape[2]))
        self.scores.copy_(every.gather(1, order))
        for old, new in ((self.log_probs, log_probs), (self.lengths, lengths), (self.tokens, tokens)):
            index = order if old.ndim == 2 else order[..., None].expand(old.shape)
            old.copy_(torch.cat([old, new], 1).gather(1, index))
        self.count.add_(valid.sum(1))

    def best(self, rank: int) -> Float[Tensor, " B"]:
        """The score of the hypothesis at a rank, counted from 1."""
        return self.scores[:, rank - 1]

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return type(self)(*(getattr(self, field.name)[searches] for field in fields(self)))

    def lists(self, n_best: int, *, finished: bool) -> list[list[Hypothesis]]:
        """At most `n_best` hypotheses of each search, best first; of equal scores the one that finished first."""
        sides = self.scores, self.log_probs, self.lengths, self.tokens
        return [
            [
                Hypothesis(tuple(tokens[:length]), score, log_prob, finished)
                for score, log_prob, length, tokens in zip(*search, strict=True)
                if score > -torch.inf
            ]
            for search in zip(*(side[:, :n_best].tolist() for side in sides), strict=True)
        ]
