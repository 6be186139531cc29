"""Drawing the next token at random: temperature, top-k, top-p, min-p.

A draw depends on the seed, the example, the sample's number and the position, never on the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.candidates import Candidates
from regard.recipe import Drawing

BITS = 23
"""Bits of a uniform number: few enough that u < 1 and total > 0 imply u × total < total in float32 too."""


def uniform_numbers(seed: int, examples: Sequence[int], samples: int, positions: int) -> Float[Tensor, "B positions"]:
    """Numbers in [0, 1), one row per sample of each example; asking for more positions does not change earlier ones."""
    # Drawn on the host, so that every device draws the same.
    streams = [[seed % 2**64, example, sample] for example in examples for sample in range(samples)]
    numbers = np.array([np.random.default_rng(stream).random(positions) for stream in streams])
    return torch.tensor(np.floor(numbers * 2**BITS) / 2**BITS, dtype=torch.float32)


def likely_tokens(
    probs: Float[Tensor, "*rows V"], *, top_k: int, top_p: float, min_p: float
) -> Bool[Tensor, "*rows V"]:
    """Which tokens may be drawn: all rules see the same probabilities, and a token must pass every one.

    top-k (Fan et al. 2018) keeps the k likeliest; top-p (Holtzman et al. 2020) the smallest set whose probabilities sum
    to at least p; min-p (Nguyen et al. 2024) those with at least min_p times the highest probability.
    """
    likely = (probs > 0) & (probs >= min_p * probs.amax(-1, keepdim=True))
    if not top_k and top_p == 1.0:
        return likely
    size = probs.shape[-1]
    ordered, order = probs.topk(min(top_k or size, size), dim=-1)
    inside = (ordered.cumsum(-1) - ordered < top_p) | (top_p == 1.0)
    return likely & torch.zeros_like(likely).scatter(-1, order, inside)


@dataclass(frozen=True)
class Sampling:
    """Draws one continuation for the single hypothesis of each of B searches."""

    settings: Drawing
    uniform: Float[Tensor, "B positions"]

    @classmethod
    def of(cls, settings: Drawing, examples: Sequence[int], samples: int, positions: int, device: torch.device) -> Self:
        """For `samples` searches of each example, with up to `positions` positions."""
        uniform = uniform_numbers(settings.seed, examples, samples, positions).to(device)
        # Captured steps depend on the settings, but not on the seed, whose numbers are drawn.
        return cls(settings.model_copy(update={"seed": 0}), uniform)

    def select(self, searches: Int[Tensor, " M"]) -> Self:
        return replace(self, uniform=self.uniform[searches])

    def choose(
        self,
        log_probs: Float[Tensor, "B 1 V"],
        totals: Float[Tensor, "B 1"],
        position: int,
        last: Bool[Tensor, " B"],
    ) -> Candidates:
        # Shift the highest to 0, so that no temperature, however small, makes all of them -inf.
        highest = log_probs.amax(-1, keepdim=True)
        tempered = (log_probs - highest) / self.settings.temperature
        probs = tempered.softmax(-1)
        likely = likely_tokens(probs, top_k=self.settings.top_k, top_p=self.settings.top_p, min_p=self.settings.min_p)
        token = draw(probs.masked_fill(~likely, 0.0), self.uniform[:, position, None])
        # A row with NaN gives NaN, whichever token was drawn.
        shown = torch.where(highest.isnan(), highest, log_probs.gather(-1, token[..., None])).squeeze(-1)
        return Candidates(totals + shown, torch.zeros_like(token), token)


def draw(weights: Float[Tensor, "*rows V"], uniform: Float[Tensor, "*rows"]) -> Int[Tensor, "*rows"]:
    """The token at quantile `uniform` of the weights' cumulative sum, taken in vocabulary order.

    In order of weight, rounding could swap neighbors and change the draw.
    """
    # A parallel cumsum need not be monotonic: only tokens with some weight count, for the total too.
    positive = weights > 0
    cumulative = weights.cumsum(-1).masked_fill(~positive, 0.0)
    total = cumulative.amax(-1, keepdim=True)
    return ((cumulative > uniform[..., None] * total) & positive).int().argmax(-1)
