"""Searches that step together, and their live hypotheses."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.candidates import Candidates, Choice
from regard.decode.constraints import Constraints
from regard.decode.ranking import Finished, Hypothesis, Ranking
from regard.device import is_asynchronous
from regard.models.generator import State
from regard.tokens.vocabulary import BEGIN


@dataclass(frozen=True)
class Live:
    """Unfinished hypotheses, `beam` for each search; an empty slot has a total of -inf."""

    totals: Float[Tensor, "B beam"]
    tokens: Int[Tensor, "B beam room"]
    """BEGIN, the tokens so far, and room for more."""
    coverage: Float[Tensor, "B beam S"] | None
    """Attention each source token got so far, if the ranking needs it."""
    lengths: Int[Tensor, " B"]
    """Length of each search's hypotheses, which no longer grows once the search is over."""
    length: int
    """Length of all running searches' hypotheses."""

    @classmethod
    def begin(cls, searches: int, beam: int, longest: int, device: torch.device) -> Self:
        """One empty hypothesis for each search, with room for `longest` tokens."""
        # The step in which everything ends writes one more token, which is never read.
        tokens = torch.full((searches, beam, longest + 2), BEGIN, device=device)
        totals = torch.full((searches, beam), -torch.inf, device=device)
        totals[:, 0] = 0.0
        return cls(totals, tokens, None, tokens.new_zeros(searches), 0)

    def forced(self, prefixes: Int[Tensor, "B p"], totals: Float[Tensor, " B"], seen: Tensor | None) -> Self:
        """Appends each search's prefix, with its log-probability, to its single hypothesis; `seen` "B S" is the
        attention to the source of all tokens read so far."""
        count = prefixes.shape[1]
        self.tokens[..., 1 : count + 1] = prefixes[:, None]
        coverage = None if seen is None else seen[:, None].expand(-1, self.beam, -1)
        totals = (self.totals + totals[:, None]).float()
        return replace(self, totals=totals, coverage=coverage, lengths=self.lengths + count, length=count)

    @property
    def beam(self) -> int:
        return self.totals.shape[1]

    @property
    def last(self) -> Int[Tensor, "N 1"]:
        """The tokens the model reads next."""
        return self.tokens[..., self.length].reshape(-1, 1)

    @property
    def written(self) -> Int[Tensor, "B beam t"]:
        return self.tokens[..., 1 : self.length + 1]

    def look(self, attention: Float[Tensor, "N S"] | None) -> Self:
        """Adds one step's attention to the coverage."""
        if attention is None:
            return self
        seen = attention.reshape(*self.totals.shape, -1)
        return replace(self, coverage=seen if self.coverage is None else self.coverage + seen)

    def finish(self, ending: Candidates, ranking: Ranking, keep: Bool[Tensor, "B S"], finished: Finished) -> None:
        """Adds the hypotheses that END continues to the finished ones."""
        if not is_asynchronous(ending.totals.device) and ending.totals.isneginf().all():
            return  # as in most steps; on an asynchronous device the check would cost more than it saves
        parents = ending.parents[..., None]
        tokens = self.written.gather(1, parents.expand(-1, -1, self.length))
        coverage = self.coverage
        if coverage is not None:
            coverage = coverage.gather(1, parents.expand(-1, -1, coverage.shape[2]))
        finished.add(ranking.score(ending.totals, self.length + 1, coverage, keep), ending.totals, self.length, tokens)

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        coverage = None if self.coverage is None else self.coverage[searches]
        totals, tokens, lengths = self.totals[searches], self.tokens[searches], self.lengths[searches]
        return replace(self, totals=totals, tokens=tokens, coverage=coverage, lengths=lengths)

    def grow(self, going: Candidates, over: Bool[Tensor, " B"]) -> Self:
        """Appends one token to each hypothesis, except in searches that are over. Writes `tokens` in place: a copy
        would cost as much as everything else here."""
        coverage, length = self.coverage, self.length + 1
        if self.beam > 1:
            parents = going.parents[..., None]
            self.tokens[..., 1:length] = self.written.gather(1, parents.expand(self.written.shape))
            coverage = None if coverage is None else coverage.gather(1, parents.expand(coverage.shape))
        self.tokens[..., length] = going.tokens
        totals = torch.where(over[:, None], self.totals, going.totals)
        return type(self)(totals, self.tokens, coverage, self.lengths + ~over, length)


@dataclass(frozen=True)
class Searches:
    """B searches that step together, with the model's state."""

    rules: Constraints
    choice: Choice
    keep: Bool[Tensor, "B S"]
    bound: Float[Tensor, " B"]
    """Divisor that turns a log-probability into an upper bound of the final score."""
    live: Live
    finished: Finished
    over: Bool[Tensor, " B"]
    broken: Bool[Tensor, " B"]
    """Where the model's output was NaN."""
    state: State

    def select(self, chosen: Int[Tensor, " M"]) -> Self:
        """Some of the searches; the model state of the others is lost."""
        beam = self.live.beam
        rows = chosen[:, None] * beam + torch.arange(beam, device=chosen.device)
        return replace(
            self,
            rules=self.rules.select(chosen),
            choice=self.choice.select(chosen),
            keep=self.keep[chosen],
            bound=self.bound[chosen],
            live=self.live.select(chosen),
            finished=self.finished.select(chosen),
            over=self.over[chosen],
            broken=self.broken[chosen],
            state=self.state.branch(rows, chosen),
        )

    def lists(self, chosen: Int[Tensor, " M"], ranking: Ranking, n_best: int, finished: bool) -> list[list[Hypothesis]]:
        """The finished, or the unfinished, hypotheses of these searches, best first."""
        if finished:
            return self.finished.select(chosen).lists(n_best, finished=True)
        live, keep = self.live.select(chosen), self.keep[chosen]
        scores = ranking.score(live.totals, live.lengths[:, None], live.coverage, keep)
        room = self.finished.tokens.shape[2]
        unfinished = Finished.none(len(scores), live.beam, room, scores.device)
        lengths = live.lengths[:, None].expand(scores.shape)
        unfinished.add(scores, live.totals, lengths, live.written)
        return unfinished.lists(n_best, finished=False)
