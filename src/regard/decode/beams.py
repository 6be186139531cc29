"""The searches of a batch and the hypotheses they are writing."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.choosing import Candidates, Choice
from regard.decode.constraints import Constraints
from regard.decode.ranking import Finished, Ranking
from regard.tokens.vocabulary import BEGIN


@dataclass(frozen=True)
class Searches:
    """What is known of each of B searches that are not over yet."""

    places: list[int]
    """Which of all searches these are."""
    examples: list[int]
    """Which examples they are for, in the caller's numbering."""
    rules: Constraints
    choice: Choice
    keep: Bool[Tensor, "B S"]
    finished: Finished

    def select(self, chosen: list[int]) -> Self:
        rows = torch.tensor(chosen, dtype=torch.long, device=self.keep.device)
        return replace(
            self,
            places=[self.places[row] for row in chosen],
            examples=[self.examples[row] for row in chosen],
            rules=self.rules.select(rows),
            choice=self.choice.select(rows),
            keep=self.keep[rows],
            finished=self.finished.select(rows),
        )


@dataclass(frozen=True)
class Live:
    """Hypotheses being written, `beam` for each search, all of one length; the total of an empty place is -inf."""

    totals: Float[Tensor, "B beam"]
    tokens: Int[Tensor, "B beam room"]
    """BEGIN, what is written, and room for more."""
    coverage: Float[Tensor, "B beam S"] | None
    """Attention each source token got so far, if the ranking asks for it."""
    length: int

    @classmethod
    def begin(cls, finished: Finished) -> Self:
        """One empty hypothesis for each search, with as much room as the finished ones have."""
        searches, beam, longest = finished.tokens.shape
        tokens = finished.tokens.new_full((searches, beam, longest + 1), BEGIN)
        totals = torch.full_like(finished.scores, -torch.inf)
        totals[:, 0] = 0.0
        return cls(totals, tokens, None, 0)

    def forced(self, prefixes: Int[Tensor, "B p"], totals: Float[Tensor, " B"], seen: Tensor | None) -> Self:
        """The same after the one hypothesis of each search has got these tokens, of these total log-probabilities;
        `seen` "B S" is the attention that all that was read but the last of them gave to the source."""
        count = prefixes.shape[1]
        self.tokens[..., 1 : count + 1] = prefixes[:, None]
        coverage = None if seen is None else seen[:, None].expand(-1, self.beam, -1)
        return replace(self, totals=self.totals + totals[:, None], coverage=coverage, length=count)

    @property
    def beam(self) -> int:
        return self.totals.shape[1]

    @property
    def last(self) -> Int[Tensor, "N 1"]:
        """What the model reads next."""
        return self.tokens[..., self.length].reshape(-1, 1)

    @property
    def written(self) -> Int[Tensor, "B beam t"]:
        return self.tokens[..., 1 : self.length + 1]

    def look(self, attention: Float[Tensor, "N S"] | None) -> Self:
        """The same after one more look at the source."""
        if attention is None:
            return self
        seen = attention.reshape(*self.totals.shape, -1)
        return replace(self, coverage=seen if self.coverage is None else self.coverage + seen)

    def finish(self, ending: Candidates, ranking: Ranking, keep: Bool[Tensor, "B S"]) -> Finished:
        """The hypotheses that are continued with END."""
        parents = ending.parents[..., None]
        tokens = self.tokens[..., 1:].gather(1, parents.expand(-1, -1, self.tokens.shape[2] - 1))
        coverage = self.coverage
        if coverage is not None:
            coverage = coverage.gather(1, parents.expand(-1, -1, coverage.shape[2]))
        scores = ranking.score(ending.totals, self.length + 1, coverage, keep)
        return Finished.of(scores, ending.totals, tokens, self.length, ended=True)

    def unfinished(self, ranking: Ranking, keep: Bool[Tensor, "B S"]) -> Finished:
        """The hypotheses as they stand, for searches that can finish none."""
        scores = ranking.score(self.totals, self.length, self.coverage, keep)
        return Finished.of(scores, self.totals, self.tokens[..., 1:], self.length, ended=False)

    def select(self, rows: Int[Tensor, "M beam"]) -> Self:
        """The hypotheses of M searches; hypothesis (i, j) is row rows[i, j] of these."""
        coverage = None if self.coverage is None else self.coverage.flatten(0, 1)[rows]
        totals, tokens = self.totals.flatten()[rows], self.tokens.flatten(0, 1)[rows]
        return replace(self, totals=totals, tokens=tokens, coverage=coverage)

    def grow(self, going: Candidates) -> Self:
        """The hypotheses, each one token longer."""
        # The room is there to be written to: a copy each step would cost as much as everything else here.
        self.tokens[..., self.length + 1] = going.tokens
        return replace(self, totals=going.totals, length=self.length + 1)
