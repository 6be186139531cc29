"""Word alignment by a hidden Markov model (Vogel et al. 1996), in both directions.

In one direction, each word j of the target translates a word i of the source, or none. Its probability is that of the
translation times that of the jump: how far i is from the source word of the previous target word. Unaligned words keep
the position of the last aligned one as their state (Och and Ney 2003).
"""

import math
from typing import no_type_check

import numpy as np
import numpy.typing as npt

from regard.loops import njit

FARTHEST = 100
"""Farther jumps are clipped to this distance."""

_LEAST = np.float32(1e-30)
Floats = npt.NDArray[np.float32]


@njit(cache=True, fastmath=True)
@no_type_check
def posteriors(translations: Floats, without: Floats, jumps: Floats, alone: float, found: Floats) -> float:
    """Fills `found` with the probability of each link of one direction (forward-backward); returns the log-likelihood.

    `translations` and `found` have a row for each target word and a column for each source word; `without` is the
    probability of each target word if it has no link, `alone` that it has none, `jumps` those of −FARTHEST … FARTHEST
    words."""
    targets, sources = translations.shape
    no_partner = np.float32(alone)
    # Rows are the position of the previous partner, from −1 (before the sentence); each is normalized over the words.
    moves = np.empty((sources + 1, sources), np.float32)
    for last in range(-1, sources):
        total = np.float32(0)
        for i in range(sources):
            moves[last + 1, i] = jumps[min(max(i - last, -FARTHEST), FARTHEST) + FARTHEST]
            total += moves[last + 1, i]
        for i in range(sources):
            moves[last + 1, i] *= (1 - no_partner) / total
    before = np.zeros(sources + 1, np.float32)
    before[0] = 1
    partnered = np.empty(sources, np.float32)
    scales = np.empty(targets, np.float32)
    log_likelihood = 0.0
    for j in range(targets):
        partnered[:] = 0
        for last in range(sources + 1):
            weight = before[last]
            if weight > 1e-12:
                for i in range(sources):
                    partnered[i] += weight * moves[last, i]
        total = np.float32(0)
        for i in range(sources):
            partnered[i] *= translations[j, i]
            total += partnered[i]
        for last in range(sources + 1):
            before[last] *= no_partner * without[j]
            total += before[last]
        log_likelihood += math.log(total + _LEAST)
        scale = np.float32(1) / (total + _LEAST)
        scales[j] = scale
        before[0] *= scale
        for i in range(sources):
            found[j, i] = partnered[i] * scale
            before[i + 1] = before[i + 1] * scale + found[j, i]
    after = np.ones(sources + 1, np.float32)
    for j in range(targets - 1, -1, -1):
        for i in range(sources):
            found[j, i] *= after[i + 1]
            partnered[i] = translations[j, i] * after[i + 1] * scales[j]
        stay = no_partner * without[j] * scales[j]
        for last in range(sources + 1):
            total = np.float32(0)
            for i in range(sources):
                total += moves[last, i] * partnered[i]
            after[last] = total + stay * after[last]
    return log_likelihood


@njit(cache=True, fastmath=True)
@no_type_check
def posteriors_without_order(translations: Floats, without: Floats, alone: float, found: Floats) -> float:
    """The same with all source positions equally likely (Brown et al. 1993, model 1)."""
    targets, sources = translations.shape
    share = np.float32((1 - alone) / sources)
    log_likelihood = 0.0
    for j in range(targets):
        total = np.float32(alone) * without[j] + _LEAST
        for i in range(sources):
            found[j, i] = share * translations[j, i]
            total += found[j, i]
        for i in range(sources):
            found[j, i] /= total
        log_likelihood += math.log(total)
    return log_likelihood


@njit(cache=True, fastmath=True)
@no_type_check
def add_jumps(found: Floats, counts: npt.NDArray[np.float64]) -> None:
    """Adds the expected counts of jumps, from the link probabilities of neighboring words."""
    targets, sources = found.shape
    for i in range(sources):
        counts[min(i + 1, FARTHEST) + FARTHEST] += found[0, i]
    for j in range(1, targets):
        for last in range(sources):
            weight = found[j - 1, last]
            if weight > 0.01:
                for i in range(sources):
                    counts[min(max(i - last, -FARTHEST), FARTHEST) + FARTHEST] += weight * found[j, i]


@njit(cache=True, fastmath=True, nogil=True)
@no_type_check
def read(
    cells: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    source: npt.NDArray[np.int32],
    source_starts: npt.NDArray[np.int64],
    target: npt.NDArray[np.int32],
    target_starts: npt.NDArray[np.int64],
    forward: Floats,
    backward: Floats,
    forward_without: Floats,
    backward_without: Floats,
    forward_jumps: Floats,
    backward_jumps: Floats,
    alone: float,
    in_order: bool,
    first: int,
    last: int,
    links: Floats,
    scores: npt.NDArray[np.float64],
    sharpness: float,
    counts: Floats,
    source_alone: npt.NDArray[np.float64],
    target_alone: npt.NDArray[np.float64],
    forward_counts: npt.NDArray[np.float64],
    backward_counts: npt.NDArray[np.float64],
) -> None:
    """Reads pairs of sentences from `first` up to `last`, in both directions.

    `forward` and `backward` are the translation probabilities of pairs of words, by their numbers in `cells`. Unless
    they are empty, `links` gets the link probabilities and `scores` the log-likelihoods of both directions, and the
    counts are increased by their expectations: for pairs of words the product of both directions, so that these learn
    to agree (Liang et al. 2006), to the power of `sharpness`, and for unaligned words the rest."""
    for number in range(first, last):
        rows = target_starts[number + 1] - target_starts[number]
        columns = source_starts[number + 1] - source_starts[number]
        if rows == 0 or columns == 0:
            continue
        one = np.empty((rows, columns), np.float32)
        other = np.empty((columns, rows), np.float32)
        cell = starts[number]
        for j in range(rows):
            for i in range(columns):
                one[j, i] = forward[cells[cell]]
                other[i, j] = backward[cells[cell]]
                cell += 1
        there, back = np.empty_like(one), np.empty_like(other)
        targets = target[target_starts[number] : target_starts[number + 1]]
        sources = source[source_starts[number] : source_starts[number + 1]]
        if in_order:
            score = posteriors(one, forward_without[targets], forward_jumps, alone, there)
            back_score = posteriors(other, backward_without[sources], backward_jumps, alone, back)
        else:
            score = posteriors_without_order(one, forward_without[targets], alone, there)
            back_score = posteriors_without_order(other, backward_without[sources], alone, back)
        if len(scores):
            scores[number, 0], scores[number, 1] = score, back_score
        cell = starts[number]
        if len(links):
            for j in range(rows):
                for i in range(columns):
                    links[cell, 0], links[cell, 1] = there[j, i], back[i, j]
                    cell += 1
        cell = starts[number]
        if len(counts):
            if in_order:
                add_jumps(there, forward_counts)
                add_jumps(back, backward_counts)
            rest = np.ones(columns, np.float32)
            for j in range(rows):
                left = np.float32(1)
                for i in range(columns):
                    both = there[j, i] * back[i, j]
                    if sharpness != 1.0:
                        both **= np.float32(sharpness)
                    counts[cells[cell]] += both
                    left -= both
                    rest[i] -= both
                    cell += 1
                target_alone[targets[j]] += max(left, np.float32(0))
            for i in range(columns):
                source_alone[sources[i]] += max(rest[i], np.float32(0))
