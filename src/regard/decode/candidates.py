"""Which continuations a search considers: the likeliest (beam and greedy search) or drawn ones (sampling)."""

from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.kernels import pick
from regard.tokens.vocabulary import END


@dataclass(frozen=True)
class Candidates:
    """Continuations of the hypotheses of B searches, best first; possibly more than fit into the beam."""

    totals: Float[Tensor, "B C"]
    """Log-probability of the whole hypothesis; -inf where there is no candidate."""
    parents: Int[Tensor, "B C"]
    """Beam index of the hypothesis that is continued."""
    tokens: Int[Tensor, "B C"]

    def without(self, over: Bool[Tensor, " B"]) -> Self:
        """Without candidates in searches that are over."""
        return replace(self, totals=self.totals.masked_fill(over[:, None], -torch.inf))

    def ending(self, beam: int) -> Self:
        """Candidates that END finishes, as far as they are among the best `beam`."""
        totals, parents, tokens = (side[:, :beam] for side in (self.totals, self.parents, self.tokens))
        return type(self)(totals.masked_fill(tokens != END, -torch.inf), parents, tokens)

    def going_on(self, beam: int, last: Bool[Tensor, " B"]) -> Self:
        """The best `beam` candidates that END does not finish; none in searches where this was the `last` step."""
        totals = self.totals.masked_fill((self.tokens == END) | last[:, None], -torch.inf)
        if totals.shape[1] == beam:
            return replace(self, totals=totals)
        best, index = totals.topk(beam)
        return type(self)(best, self.parents.gather(1, index), self.tokens.gather(1, index))

    def unless(self, over: Bool[Tensor, " B"]) -> Self:
        """The same, except that in searches which are over each hypothesis is its own parent."""
        own = torch.arange(self.parents.shape[1], device=over.device)
        return replace(self, parents=torch.where(over[:, None], own, self.parents))


@runtime_checkable
class Choice(Protocol):
    """A way to choose continuations, with what it needs to know about each search."""

    def choose(
        self,
        log_probs: Float[Tensor, " B #beam V"],
        totals: Float[Tensor, "B beam"],
        position: int,
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        """The best continuations, given the log-probabilities of the next tokens and of the hypotheses so far: enough
        to fill the beam with some that END does not finish. Identical hypotheses may share a row.

        `last` marks searches in which only END may follow.
        """
        ...

    def select(self, searches: Int[Tensor, " M"]) -> Self: ...


@dataclass(frozen=True)
class Likeliest:
    """The likeliest continuations.

    At the length limit END does not compete with continuations of other hypotheses. To finish there, a hypothesis must
    have END among its own `beam` likeliest continuations; one that merely runs into the limit stays unfinished.
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
        """How many continuations of each row to consider: `beam`, and one more because one may be END. With a beam of 1
        the likeliest is enough: if it is END, nothing else can be better."""
        return 1 if beam == 1 else min(beam + 1, size)

    def among(
        self,
        each: Float[Tensor, " B #beam count"],
        tokens: Int[Tensor, " B #beam count"],
        totals: Float[Tensor, "B beam"],
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        """The best continuations over all rows, given the likeliest of each row."""
        beam = totals.shape[1]
        if beam == 1:
            totals = totals + each[..., 0].masked_fill(last[:, None] & (tokens[..., 0] != END), -torch.inf)
            return Candidates(totals, torch.zeros_like(tokens[..., 0]), tokens[..., 0])
        own = torch.arange(each.shape[2], device=last.device) < beam
        sums = totals[..., None] + each.masked_fill(last[:, None, None] & ~((tokens == END) & own), -torch.inf)
        # Nothing continues an empty beam slot, whatever the model computes for it.
        sums.masked_fill_(totals[..., None] == -torch.inf, -torch.inf)
        best, index = sums.flatten(1).topk(min(2 * beam, sums[0].numel()))
        return Candidates(best, index // each.shape[2], tokens.expand_as(sums).flatten(1).gather(1, index))

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return self


RUN = 64
"""Tokens per run in `likeliest`."""


def likeliest(
    log_probs: Float[Tensor, "B beam V"], count: int
) -> tuple[Float[Tensor, "B beam count"], Int[Tensor, "B beam count"]]:
    """The highest log-probabilities of each row and their tokens, like `topk`; ties are broken arbitrarily.

    `topk` is slow on rows as long as a vocabulary. The best `count` lie in the `count` runs with the highest maxima, or
    in the rest after the last full run; taking the maximum of each run is much faster.
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
