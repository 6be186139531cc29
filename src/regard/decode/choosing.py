"""Which continuations a search considers: the likeliest ones (beam and greedy search) or drawn ones (sampling)."""

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.tokens.vocabulary import END


@dataclass(frozen=True)
class Candidates:
    """Continuations of the hypotheses of B searches, best first."""

    totals: Float[Tensor, "B candidates"]
    """Log-probability of the whole hypothesis; -inf for no candidate."""
    parents: Int[Tensor, "B candidates"]
    """Place in the beam of the hypothesis that is continued."""
    tokens: Int[Tensor, "B candidates"]
    """What it is continued with."""

    def going_on(self, beam: int, last: Bool[Tensor, " B"] | None) -> Self:
        """The best `beam` that do not end, but none in searches where this was the `last` step."""
        ends = self.tokens == END
        totals = self.totals.masked_fill(ends if last is None else ends | last[:, None], -torch.inf)
        best, order = totals.topk(beam)
        return type(self)(best, self.parents.gather(1, order), self.tokens.gather(1, order))

    def select(self, searches: list[int]) -> Self:
        return type(self)(self.totals[searches], self.parents[searches], self.tokens[searches])


@runtime_checkable
class Choice(Protocol):
    """A way to choose continuations, with whatever it must know about each search."""

    def choose(
        self,
        log_probs: Float[Tensor, "B beam V"],
        totals: Float[Tensor, "B beam"],
        position: int,
        last: Bool[Tensor, " B"] | None,
    ) -> Candidates:
        """At least `beam` continuations, given the log-probabilities of each next token and of what is written.

        `last` says in which searches nothing but END may follow now; None means in none of them.
        """
        ...

    def select(self, searches: Int[Tensor, " M"]) -> Self: ...


@dataclass(frozen=True)
class Likeliest:
    """The likeliest continuations, twice as many as the beam is wide: at most half of them can be END.

    At the length limit END no longer competes with what other hypotheses could go on with. To finish, a hypothesis
    must have it among its own `beam` likeliest continuations; so what merely runs into the limit is unfinished.
    """

    def choose(
        self,
        log_probs: Float[Tensor, "B beam V"],
        totals: Float[Tensor, "B beam"],
        position: int,
        last: Bool[Tensor, " B"] | None,
    ) -> Candidates:
        beam, size = log_probs.shape[1:]
        if last is not None:
            end = log_probs[..., END, None]
            likelier = (log_probs > end).sum(-1, keepdim=True)
            ends = torch.full_like(log_probs, -torch.inf)
            ends[..., END, None] = end.masked_fill(likelier >= beam, -torch.inf)
            log_probs = torch.where(last[:, None, None], ends, log_probs)
        best, places = (totals[..., None] + log_probs).flatten(1).topk(2 * beam)
        return Candidates(best, places // size, places % size)

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return self
