"""A linear-chain conditional random field over the tags of a sentence (Lafferty et al. 2001).

With e the emissions of a sentence of n words, and transitions T from a tag to the next:

    score(y) = start(y1) + e1(y1) + Σ T(y(t−1), yt) + et(yt) + end(yn),     log p(y) = score(y) − log Z

Z is summed over all sequences of tags by the forward algorithm, together with its mirror image, the backward algorithm,
in one loop over words that handles all sentences of a batch; their product gives the marginals, which are also the
gradient of log Z.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

FORBIDDEN = -1e4
"""Score of an impossible transition: its exponential is exactly 0 in float32, and differences of it are not NaN."""
AT_ONCE = 1 << 24
"""Pairs of tags of neighboring words whose probabilities are held in memory at once."""


class CRF(nn.Module):
    """Scores and finds sequences of C tags. `allowed` says which tag may follow which; row C is the beginning of
    a sentence, column C its end. Rows are padded on the right; emissions of padding are ignored. An
    empty sentence has one sequence of tags, the empty one."""

    allowed: Bool[Tensor, "D D"]

    def __init__(self, tags: int, allowed: Bool[Tensor, "D D"] | None = None) -> None:
        super().__init__()
        self.start, self.end = nn.Parameter(torch.zeros(tags)), nn.Parameter(torch.zeros(tags))
        self.transitions = nn.Parameter(torch.zeros(tags, tags))
        everything = torch.ones(tags + 1, tags + 1, dtype=torch.bool)
        self.register_buffer("allowed", everything if allowed is None else allowed, persistent=False)

    def log_likelihood(
        self, emissions: Float[Tensor, "B S C"], tags: Int[Tensor, "B S"], lengths: Int[Tensor, " B"]
    ) -> Float[Tensor, " B"]:
        """log p of the given tags; those of padding may be anything."""
        start, transitions, end = self.scores()
        given = emissions.float(), start, transitions, end, lengths
        log_z: Tensor = _LogPartition.apply(*given)  # type: ignore[no-untyped-call]
        keep = torch.arange(tags.shape[1], device=tags.device) < lengths[:, None]
        tags = tags.masked_fill(~keep, 0)
        emitted = emissions.float().gather(2, tags.unsqueeze(2)).squeeze(2)
        size = len(start)
        followed = transitions.flatten()[tags[:, :-1] * size + tags[:, 1:]]
        last = tags.gather(1, (lengths - 1).clamp_min(0)[:, None]).squeeze(1)
        outer = (start[tags[:, 0]] + end[last]) * (lengths > 0)
        inside = emitted.masked_fill(~keep, 0.0).sum(1) + followed.masked_fill(~keep[:, 1:], 0.0).sum(1)
        return inside + outer - log_z

    def marginals(self, emissions: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B S C"]:
        """p of each tag at each word; arbitrary at padding."""
        emissions = emissions.float()
        ahead, back, log_z = _passes(emissions, *self.scores(), lengths)
        return (ahead + back - emissions - log_z[:, None, None]).exp()

    def best(self, emissions: Float[Tensor, "B S C"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B S"]:
        """The likeliest sequence of tags of each sentence (Viterbi 1967); arbitrary at padding."""
        start, transitions, end = self.scores()
        rows, steps, tags = emissions.shape
        emissions = emissions.float()
        score, itself = start + emissions[:, 0], torch.arange(tags, device=emissions.device).expand(rows, tags)
        pointers = []
        for step in range(1, steps):
            reached, before = (score.unsqueeze(2) + transitions).max(1)
            inside = (lengths > step)[:, None]
            # After its last word, a sentence stays where it is.
            score = torch.where(inside, reached + emissions[:, step], score)
            pointers.append(torch.where(inside, before, itself))
        found = [(score + end).argmax(1)]
        for pointer in reversed(pointers):
            found.append(pointer.gather(1, found[-1][:, None]).squeeze(1))
        return torch.stack(found[::-1], 1)

    def scores(self) -> tuple[Float[Tensor, " C"], Float[Tensor, "C C"], Float[Tensor, " C"]]:
        """Scores of each tag at the start, after each other tag and at the end; `FORBIDDEN` where not allowed."""
        forbidden, tags = ~self.allowed, len(self.start)
        return (
            self.start.float().masked_fill(forbidden[tags, :tags], FORBIDDEN),
            self.transitions.float().masked_fill(forbidden[:tags, :tags], FORBIDDEN),
            self.end.float().masked_fill(forbidden[:tags, tags], FORBIDDEN),
        )


def _passes(
    emissions: Float[Tensor, "B S C"],
    start: Float[Tensor, " C"],
    transitions: Float[Tensor, "C C"],
    end: Float[Tensor, " C"],
    lengths: Int[Tensor, " B"],
) -> tuple[Float[Tensor, "B S C"], Float[Tensor, "B S C"], Float[Tensor, " B"]]:
    """Log-sums of the scores of all sequences up to a word and of all from it on, both with its emission; and log Z.

    Sentences read backward are sentences of a chain whose transitions are turned around, so one loop does both.
    """
    rows, steps, tags = emissions.shape
    # Step s of the backward pass is at word length − 1 − s.
    mirrored = (lengths[:, None] - 1 - torch.arange(steps, device=lengths.device)).clamp_min(0)
    index = mirrored.unsqueeze(2).expand(rows, steps, tags)
    both = torch.stack([emissions, emissions.gather(1, index)])
    turned = torch.stack([transitions, transitions.T]).unsqueeze(1)
    sums = [both[:, :, 0] + torch.stack([start, end]).unsqueeze(1)]
    for step in range(1, steps):
        sums.append((sums[-1].unsqueeze(3) + turned).logsumexp(2) + both[:, :, step])
    ahead, backward = torch.stack(sums, 2)
    last = ahead.gather(1, (lengths - 1).clamp_min(0)[:, None, None].expand(rows, 1, tags)).squeeze(1)
    log_z = (last + end).logsumexp(1) * (lengths > 0)
    return ahead, backward.gather(1, index), log_z


class _LogPartition(torch.autograd.Function):
    """log Z of each sentence. Its gradients are expected counts: autograd would go back through every step instead."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Float[Tensor, "B S C"],
        start: Float[Tensor, " C"],
        transitions: Float[Tensor, "C C"],
        end: Float[Tensor, " C"],
        lengths: Int[Tensor, " B"],
    ) -> Float[Tensor, " B"]:
        ahead, back, log_z = _passes(emissions, start, transitions, end, lengths)
        ctx.save_for_backward(emissions, transitions, lengths, ahead, back, log_z)
        return log_z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Float[Tensor, " B"]) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        emissions, transitions, lengths, ahead, back, log_z = ctx.saved_tensors
        places = torch.arange(emissions.shape[1], device=lengths.device)
        keep = places < lengths[:, None]
        # Padding is arbitrary and may overflow.
        logs = (ahead + back - emissions - log_z[:, None, None]).masked_fill(~keep.unsqueeze(2), -torch.inf)
        unary = logs.exp() * gradient[:, None, None]
        is_last = places == lengths[:, None] - 1
        return (
            unary,
            unary[:, 0].sum(0),
            _expected_pairs(ahead, back, transitions, keep, log_z, gradient),
            (unary * is_last.unsqueeze(2)).sum((0, 1)),
            None,
        )


def _expected_pairs(
    ahead: Float[Tensor, "B S C"],
    back: Float[Tensor, "B S C"],
    transitions: Float[Tensor, "C C"],
    keep: Bool[Tensor, "B S"],
    log_z: Float[Tensor, " B"],
    gradient: Float[Tensor, " B"],
) -> Float[Tensor, "C C"]:
    """How often each tag is expected to follow each other one, weighed by the gradient of each sentence."""
    tags = len(transitions)
    # exp(ahead(i) + T(i, j) + back(j) − log Z) of every two neighboring words.
    inside = keep[:, 1:, None]
    first = (ahead[:, :-1] - log_z[:, None, None]).masked_fill(~inside, -torch.inf).reshape(-1, tags)
    second = back[:, 1:].masked_fill(~inside, 0.0).reshape(-1, tags)
    weights = gradient[:, None].expand_as(keep)[:, 1:].reshape(-1)
    total, rows = torch.zeros_like(transitions), max(1, AT_ONCE // tags**2)
    for one, other, weight in zip(*(torch.split(each, rows) for each in (first, second, weights)), strict=True):
        pairs = (one.unsqueeze(2) + transitions + other.unsqueeze(1)).exp()
        total += torch.einsum("n,nij->ij", weight, pairs)
    return total
