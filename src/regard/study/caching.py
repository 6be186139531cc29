"""Which cache suits a trained language model, by what it makes of development text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from regard.data.text import Text
from regard.tasks.writer import Writer

HALF = 0.5
"""The share with which a cache is read, to tell what it says apart from what the model says."""


@dataclass(frozen=True)
class Caches:
    """Every size with every theta and every share."""

    sizes: Sequence[int]
    thetas: Sequence[float]
    shares: Sequence[float]


def best_cache(writer: Writer, text: Text, caches: Caches, *, rows: int) -> tuple[int, float, float]:
    """The size, theta and share with which a text is most likely when read in `rows`.

    Probability is linear in the share, p = (1 − λ) · p_model + λ · p_cache, so each size and theta is tried once."""
    model = np.exp(writer.score_text(text, rows=rows).log_probs, dtype=np.float64)
    found: dict[tuple[int, float, float], float] = {}
    for size, theta in product(caches.sizes, caches.thetas):
        mixed = writer.with_cache(size, theta, HALF).score_text(text, rows=rows)
        cache = np.maximum((np.exp(mixed.log_probs, dtype=np.float64) - (1 - HALF) * model) / HALF, 0)
        for share in caches.shares:
            found[size, theta, share] = float(np.log((1 - share) * model + share * cache).mean())
    return max(found, key=found.__getitem__)
