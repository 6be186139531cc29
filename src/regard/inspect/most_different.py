"""The most different attention that leaves an output as it was (Jain and Wallace 2019).

Maximizes the Jensen–Shannon divergence from the model's weights, subject to a limit on the total variation between the
outputs. Since the divergence grows along every straight line from the weights, the first try is a line search towards
all weight on one key, uniform weights, and random weights; the second is gradient ascent from there, with a penalty
beyond the limit, and another line search. Every candidate is judged by the model itself.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from regard.inspect.chosen_attention import ChosenAttention

MOST_KEYS = 64
"""Keys towards which all weight is moved; if there are more, a sample of them."""
DRAWN = 20
"""Number of random weights that are tried."""
STARTS = 8
"""First tries from which ascents start, half of them the best: the point that each reached, and its end point."""
STEPS, RATE = 80, 0.2
LITTLE, PATIENCE = 1e-3, 20
"""The ascent stops after this many steps in which no start improved the maximum by this much."""
HALVINGS = 10
NEARLY = 0.98
"""Share of the largest possible divergence at which the search stops."""


@dataclass(frozen=True, eq=False)
class Different:
    """Weights, and how far they and their output are from those of the model."""

    weights: Float[Tensor, "M K"]
    divergence: float
    variation: float


def divergence(first: Float[Tensor, "*rows M K"], second: Float[Tensor, "*rows M K"]) -> Float[Tensor, "*rows"]:
    """The Jensen–Shannon divergence in nats, at most log 2; the mean over M distributions."""
    mixed = (first + second) / 2
    # The gradient of the entropy is infinite at zero.
    mixture, one, other = (torch.special.entr(each.clamp_min(1e-12)).sum(-1) for each in (mixed, first, second))
    apart: Float[Tensor, "*rows"] = (mixture - (one + other) / 2).clamp_min(0).mean(-1)
    return apart


def total_variation(first: Float[Tensor, "*rows C"], second: Float[Tensor, "*rows C"]) -> Float[Tensor, "*rows"]:
    return (first - second).abs().sum(-1) / 2


def most_different(attention: ChosenAttention, limit: float, *, seed: int = 1) -> Different:
    """The most different weights found whose output is within the limit; the model's own if there are no others."""
    own, generator = attention.weights, torch.Generator().manual_seed(seed)
    with torch.no_grad():
        output = attention.outputs.log_probs(attention.place).exp()
    ends = _ends(attention, generator)
    reached = _furthest(attention, ends, output, limit)
    away = divergence(own, reached)
    if away.max() < NEARLY * divergence(own, ends).max():
        best = away.argsort(descending=True)[: STARTS // 2]
        drawn = torch.randperm(len(ends), generator=generator)[: STARTS // 2].to(best.device)
        climbed = _climb(attention, torch.cat([reached[best], ends[best], reached[drawn], ends[drawn]]), output, limit)
        further = _furthest(attention, _to_the_edge(own, climbed), output, limit)
        reached = torch.cat([reached, climbed, further])
    return _first_within(attention, reached, output, limit)


def _ends(attention: ChosenAttention, generator: torch.Generator) -> Float[Tensor, "N M K"]:
    """All weight on one key, for each key; on the least attended key of each distribution; uniform; and random weights,
    most of them on few keys."""
    own, visible = attention.weights, attention.visible
    count, keys = own.shape
    least = own.masked_fill(~visible, torch.inf).argmin(1)
    tried = torch.arange(keys) if keys <= MOST_KEYS else torch.randperm(keys, generator=generator)[:MOST_KEYS]
    # A distribution that cannot see a key goes to its own least.
    places = [least, *(torch.where(visible[:, key], key, least) for key in tried.tolist())]
    corners = torch.nn.functional.one_hot(torch.stack(places), keys).to(own.dtype)
    powers = 2.0 ** torch.arange(DRAWN).remainder(5).view(-1, 1, 1)
    drawn = torch.rand(DRAWN, count, keys, generator=generator).pow(powers).to(own).masked_fill(~visible, 0.0)
    drawn = _to_the_edge(own, drawn / drawn.sum(2, keepdim=True).clamp_min(1e-12))
    return torch.unique(torch.cat([corners, drawn, uniform(attention)[None]]), dim=0)  # type: ignore[no-any-return]


def _to_the_edge(own: Float[Tensor, "M K"], other: Float[Tensor, "N M K"]) -> Float[Tensor, "N M K"]:
    """The straight line from the model's weights through others, extended until a weight is zero."""
    way = other - own
    steps = torch.where(way < 0, own / -way.clamp_max(-1e-12), torch.inf).amin(2, keepdim=True)
    edge = (own + steps.where(steps.isfinite(), 0.0) * way).clamp_min(0)
    return edge / edge.sum(2, keepdim=True)


def uniform(attention: ChosenAttention) -> Float[Tensor, "M K"]:
    visible = attention.visible.to(attention.weights.dtype)
    return visible / visible.sum(1, keepdim=True)


def permuted(attention: ChosenAttention, count: int, generator: torch.Generator) -> Float[Tensor, "N M K"]:
    """The same weights on other keys, among those that may be seen."""
    found = attention.weights.repeat(count, 1, 1)
    for row, seen in enumerate(attention.visible):
        places = seen.nonzero()[:, 0]
        for one in range(count):
            order = torch.randperm(len(places), generator=generator).to(places.device)
            found[one, row, places] = attention.weights[row, places[order]]
    return found


def _furthest(
    attention: ChosenAttention, ends: Float[Tensor, "N M K"], output: Float[Tensor, "1 C"], limit: float
) -> Float[Tensor, "N M K"]:
    """The furthest point within the limit from the model's weights towards others; by bisection, so that points behind
    a stretch beyond the limit are found only at the very end."""
    own = attention.weights
    low = torch.zeros(len(ends), 1, 1, dtype=own.dtype, device=own.device)
    high = torch.ones_like(low)
    for step in range(HALVINGS + 1):
        share = high if step == 0 else (low + high) / 2
        variation = total_variation(attention.probabilities(own + share * (ends - own)), output)
        within = (variation <= limit).view(-1, 1, 1)
        low, high = torch.where(within, share, low), torch.where(within, high, share)
    return own + low * (ends - own)


def _climb(
    attention: ChosenAttention, starts: Float[Tensor, "R M K"], output: Float[Tensor, "1 C"], limit: float
) -> Float[Tensor, "R M K"]:
    """Gradient ascent of the divergence over softmax(logits): the best weights within the limit on the path from
    each start, and the last ones."""
    own, visible = attention.weights, attention.visible
    smooth = 0.95 * starts + 0.05 * uniform(attention)
    logits = smooth.clamp_min(1e-6).log().masked_fill(~visible, 0.0).requires_grad_()
    optimizer = torch.optim.Adam([logits], RATE)
    penalty = torch.full((len(starts),), 10.0, device=own.device)
    best, highest = starts.clone(), torch.full((len(starts),), -1.0, device=own.device)
    most, since = 0.0, 0
    for step in range(STEPS):
        with torch.enable_grad():
            weights = logits.masked_fill(~visible, -torch.inf).softmax(-1)
            away = divergence(own, weights)
            variation = total_variation(attention.log_probs(weights).exp(), output)
            loss = (penalty * (variation - 0.9 * limit).clamp_min(0) - away).sum()
            (logits.grad,) = torch.autograd.grad(loss, [logits])
        within, weights, away = variation.detach() <= limit, weights.detach(), away.detach()
        better = within & (away > highest)
        best = torch.where(better.view(-1, 1, 1), weights, best)
        highest = torch.where(better, away, highest)
        if float(highest.max()) > most + LITTLE:
            most, since = float(highest.max()), step
        elif step - since > PATIENCE:
            break
        penalty = torch.where(within, penalty / 1.05, penalty * 1.2)
        optimizer.step()
    return torch.cat([best[highest >= 0], weights])


def _first_within(
    attention: ChosenAttention, candidates: Float[Tensor, "N M K"], output: Float[Tensor, "1 C"], limit: float
) -> Different:
    """The most different candidate that is within the limit when the model computes it alone."""
    away = divergence(attention.weights, candidates)
    for place in away.argsort(descending=True).tolist():
        variation = float(total_variation(attention.probabilities(candidates[place : place + 1]), output)[0])
        if variation <= limit:
            return Different(candidates[place], float(away[place]), variation)
    return Different(attention.weights, 0.0, 0.0)
