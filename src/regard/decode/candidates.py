"""Which continuations a search considers: the likeliest ones (beam and greedy search) or drawn ones (sampling)."""

from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.kernels import pick
from regard.tokens.vocabulary import END


@dataclass(frozen=True)
class Candidates:
    """Continuations of the hypotheses of B searches, best first; there may be more than there are places for."""

    totals: Float[Tensor, "B C"]
    """Log-probability of the whole hypothesis; -inf where there is no candidate."""
    parents: Int[Tensor, "B C"]
    """Place in the beam of the hypothesis that is continued."""
    tokens: Int[Tensor, "B C"]
    """What it is continued with."""

    def without(self, over: Bool[Tensor, " B"]) -> Self:
        """None in searches that are over."""
        return replace(self, totals=self.totals.masked_fill(over[:, None], -torch.inf))

    def ending(self, beam: int) -> Self:
        """Those that END finishes, if they are among the best `beam` of all."""
        totals, parents, tokens = (side[:, :beam] for side in (self.totals, self.parents, self.tokens))
        return type(self)(totals.masked_fill(tokens != END, -torch.inf), parents, tokens)

    def going_on(self, beam: int, last: Bool[Tensor, " B"]) -> Self:
        """The best `beam` that END does not finish, but none in searches where this was the `last` step."""
        totals = self.totals.masked_fill((self.tokens == END) | last[:, None], -torch.inf)
        if totals.shape[1] == beam:
            return replace(self, totals=totals)
        best, places = totals.topk(beam)
        return type(self)(best, self.parents.gather(1, places), self.tokens.gather(1, places))

    def unless(self, over: Bool[Tensor, " B"]) -> Self:
        """The same, but in searches that are over every hypothesis continues itself."""
        own = torch.arange(self.parents.shape[1], device=over.device)
        return replace(self, parents=torch.where(over[:, None], own, self.parents))


@runtime_checkable
class Choice(Protocol):
    """A way to choose continuations, with whatever it must know about each search."""

    def choose(
        self,
        log_probs: Float[Tensor, " B #beam V"],
        totals: Float[Tensor, "B beam"],
        position: int,
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        """The best continuations, given the log-probabilities of each next token and of what is written: as many as may
        be needed to fill the beam with some that END does not finish. Hypotheses that are alike may share a row.

        `last` says in which searches nothing but END may follow now.
        """
        ...

    def select(self, searches: Int[Tensor, " M"]) -> Self: ...


@dataclass(frozen=True)
class Likeliest:
    """The likeliest continuations.

    At the length limit END no longer competes with what other hypotheses could go on with. To finish, a hypothesis
    must have it among its own `beam` likeliest continuations; so what merely runs into the limit is unfinished.
    """

    def choose(
        self,
        log_probs: Float[Tensor, " B #beam V"],
        totals: Float[Tensor, "B beam"],
        position: int,
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        return self.among(*likeliest(log_probs, self.count(totals.shape[1], log_probs.shape[2])), totals, last)

    def count(self, beam: int, size: int) -> int:
        """How many of the likeliest of each row are considered: the best of all are among the best of each row, of
        which one is END. With the likeliest token of a single row being END nothing else is ever better."""
        return 1 if beam == 1 else min(beam + 1, size)

    def among(
        self,
        each: Float[Tensor, " B #beam count"],
        tokens: Int[Tensor, " B #beam count"],
        totals: Float[Tensor, "B beam"],
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        """The best continuations, given the likeliest of each row: only those are worth adding up."""
        beam = totals.shape[1]
        if beam == 1:
            totals = totals + each[..., 0].masked_fill(last[:, None] & (tokens[..., 0] != END), -torch.inf)
            return Candidates(totals, torch.zeros_like(tokens[..., 0]), tokens[..., 0])
        own = torch.arange(each.shape[2], device=last.device) < beam
        sums = totals[..., None] + each.masked_fill(last[:, None, None] & ~((tokens == END) & own), -torch.inf)
        # Nothing continues an empty place, whatever the model makes of it.
        sums.masked_fill_(totals[..., None] == -torch.inf, -torch.inf)
        best, places = sums.flatten(1).topk(min(2 * beam, sums[0].numel()))
        return Candidates(best, places // each.shape[2], tokens.expand_as(sums).flatten(1).gather(1, places))

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return self


RUN = 64
"""Tokens that are looked at together for the likeliest ones."""


def likeliest(
    log_probs: Float[Tensor, "B beam V"], count: int
) -> tuple[Float[Tensor, "B beam count"], Int[Tensor, "B beam count"]]:
    """The highest log-probabilities of each row and their tokens, as `topk` gives them; which of equals is open.

    `topk` is slow on rows as long as a vocabulary. The best `count` of all are in the `count` runs of tokens with the
    best of their own, or among the tokens left over at the end; finding the best of a run is much faster.
    """
    if count == 1:
        return log_probs.max(-1, keepdim=True)
    size = log_probs.shape[-1]
    highest = pick("highest", log_probs, count=count)
    if highest is not None:
        best, tokens = highest(log_probs, count)
        return best, tokens
    runs = size // RUN
    if runs < 4 * count:
        return log_probs.topk(count)
    whole, rest = log_probs[..., : runs * RUN].unfold(-1, RUN, RUN), log_probs[..., runs * RUN :]
    chosen = whole.amax(-1).topk(count).indices[..., None]
    inside = whole.gather(-2, chosen.expand(*chosen.shape[:-1], RUN)).flatten(-2)
    best, places = torch.cat([inside, rest], -1).topk(count)
    first = chosen[..., 0].gather(-1, (places // RUN).clamp(max=count - 1)) * RUN
    return best, torch.where(places < count * RUN, first + places % RUN, places + (runs - count) * RUN)
