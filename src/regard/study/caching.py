"""Chooses a cache for a trained language model, by the probability of development text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import softmax
from regard.data.text import Text
from regard.models.continuous_cache import CacheState
from regard.tasks.scoring_text import readings_of
from regard.tasks.writer import Writer

Found = tuple[Float[Tensor, " n"], Float[Tensor, "caches n"]]
"""The probability of each word of a text by the model, and by a cache of each size and theta."""


@dataclass(frozen=True)
class Caches:
    """The grid of settings to search: every size with every theta and every share."""

    sizes: Sequence[int]
    thetas: Sequence[float]
    shares: Sequence[float]


def best_cache(writer: Writer, text: Text, caches: Caches, *, rows: int) -> tuple[int, float, float]:
    """The size, theta and share with which a text is most likely when read in `rows`.

    Probability is linear in the share, p = (1 − λ) · p_model + λ · p_cache, and the model's outputs, which all caches
    compare, do not depend on the cache: so the text is read once for all of them. If the model itself copies words, one
    beyond the vocabulary gets the model's probability of an unknown word, even if the cache holds it."""
    pairs = list(product(caches.sizes, caches.thetas))
    shares = torch.tensor(caches.shares, dtype=torch.float64, device=writer.model.like.device)[:, None, None]
    likelihood = torch.zeros(len(shares), len(pairs), dtype=torch.float64, device=shares.device)
    for model, cache in _read(writer, text, caches, rows):
        likelihood += ((1 - shares) * model + shares * cache).log().sum(-1)
    share, pair = divmod(int(likelihood.argmax()), len(pairs))
    return *pairs[pair], caches.shares[share]


@torch.no_grad()
def _read(writer: Writer, text: Text, caches: Caches, rows: int) -> Iterator[Found]:
    """Reads a text piece by piece."""
    # A cache with share 0 changes no probability, and keeps what caches up to its size compare.
    model = writer.with_cache(max(caches.sizes), share=0.0).model
    context = writer.recipe.data.context
    for batch, _, reading in readings_of(model, writer.tokens_of(text), context, segment=writer.segment, rows=rows):
        assert isinstance(reading.state, CacheState)
        recent, wanted = reading.state.recent, batch.wanted
        log_probs, _ = model.readout_of(reading.state).log_probs(reading.features, wanted.tokens)
        own = log_probs.double().exp()
        alike = reading.raw @ recent.vectors.mT
        hits = recent.words[:, None] == wanted.tokens[..., None]
        found = []
        for size in caches.sizes:
            visible = recent.visible(wanted.tokens.shape[1], size, itself=True).squeeze(1)
            for theta in caches.thetas:
                weights = softmax(theta * alike, visible)
                total = weights.sum(-1, dtype=torch.float64)
                # The share of an empty cache stays with the model.
                found.append((weights * hits).sum(-1, dtype=torch.float64) + (1 - total) * own)
        yield own[wanted.keep], torch.stack(found)[:, wanted.keep]
