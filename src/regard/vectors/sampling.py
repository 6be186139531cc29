"""Subsampling of frequent words and negative sampling. Randomness is a function of (seed, epoch, position in the text),
so that no generator state is saved."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32, Int64, UInt32

POWER = 0.75
"""Negatives are drawn in proportion to this power of their counts (Mikolov et al. 2013)."""


@dataclass(frozen=True)
class Alias:
    """A table for drawing numbers with given probabilities in constant time (Walker 1977): draw an index uniformly,
    keep it with its odds, and otherwise take its alias."""

    odds: UInt32[np.ndarray, " V"]
    """In units of 2**-32."""
    alias: Int32[np.ndarray, " V"]

    @classmethod
    def of(cls, weights: Float64[np.ndarray, " V"]) -> "Alias":
        shares = weights / weights.sum() * len(weights)
        alias = np.arange(len(weights), dtype=np.int32)
        small, large = list(np.flatnonzero(shares < 1)), list(np.flatnonzero(shares >= 1))
        while small and large:
            poor, rich = small.pop(), large[-1]
            alias[poor] = rich
            shares[rich] -= 1 - shares[poor]
            if shares[rich] < 1:
                small.append(large.pop())
        # Those left on either list have a share of one, up to rounding.
        shares[small + large] = 1
        return cls(in_units(shares), alias)


def negatives(counts: Int64[np.ndarray, " V"]) -> Alias:
    """The table that negatives are drawn from."""
    return Alias.of(counts.astype(np.float64) ** POWER)


def keeping(counts: Int64[np.ndarray, " V"], sample: float) -> UInt32[np.ndarray, " V"]:
    """The probability of keeping an occurrence of each word, in units of 2**-32: √(s/f) + s/f for a frequency f, as in
    word2vec."""
    if not sample:
        return in_units(np.ones(len(counts)))
    ratio = sample * counts.sum() / counts.astype(np.float64)
    return in_units(np.minimum(np.sqrt(ratio) + ratio, 1))


def in_units(shares: Float64[np.ndarray, " V"]) -> UInt32[np.ndarray, " V"]:
    """Shares of at most one in units of 2**-32; one becomes 2**32 − 1."""
    return np.minimum(shares * 2.0**32, 2.0**32 - 1).astype(np.uint32)


def start(seed: int, epoch: int, place: int) -> np.uint64:
    """The generator state for a position in the text (SplitMix64 of all three, Steele et al. 2014)."""
    state = 0
    for part in (seed, epoch, place):
        state = (state + part + 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF
        state = ((state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9) & 0xFFFF_FFFF_FFFF_FFFF
        state = ((state ^ (state >> 27)) * 0x94D0_49BB_1331_11EB) & 0xFFFF_FFFF_FFFF_FFFF
        state ^= state >> 31
    return np.uint64(state)
