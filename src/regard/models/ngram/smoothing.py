"""From counts to probabilities: modified Kneser–Ney, add-k, and stupid back-off."""

from collections.abc import Callable
from itertools import pairwise
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from regard.loops import njit
from regard.models.ngram.counting import Counts
from regard.models.ngram.table import LAST_KEY, NEVER, NEVER_WRITTEN, NgramTable
from regard.recipe import NgramModel
from regard.tokens.vocabulary import BEGIN

FALLBACK = (0.0, 0.5, 1.0, 1.5)
"""KenLM's discounts of counts 0, 1, 2 and more for texts from which they cannot be estimated."""

Logs = Float32[np.ndarray, " _"]
Links = Int32[np.ndarray, " _"]


def discounts(counts: Int64[np.ndarray, " nodes"]) -> Float64[np.ndarray, "4"]:
    """The discounts of counts 0, 1, 2, and 3 or more (Chen and Goodman 1998, equation 26)."""
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(float)
    if not n[1:4].all():
        return np.array(FALLBACK)
    share = n[1] / (n[1] + 2 * n[2])
    found = np.array([0.0] + [j - (j + 1) * share * n[j + 1] / n[j] for j in (1, 2, 3)])
    return found if ((found >= 0) & (found <= np.arange(4))).all() else np.array(FALLBACK)


def kneser_ney(counts: Counts, settings: NgramModel) -> NgramTable:
    """Modified Kneser–Ney, interpolated down to the uniform distribution (Chen and Goodman 1998).

    The adjusted count of a shorter n-gram is the number of distinct words before it, or its count if it starts with
    BEGIN. As in KenLM (Heafield et al. 2013), there are fallback discounts, and the unknown word has count zero.
    """
    links = _links(counts)
    words = _adjusted(counts, links, 1).copy()
    words[BEGIN] = 0
    taken = discounts(words)[np.minimum(words, 3)]
    total = max(words.sum(), 1)
    shares = (words - taken) / total + (taken.sum() / total if words.any() else 1.0) * _even(counts)
    log_probs, back_offs = [_log10(shares)], []
    for order, (level, link) in enumerate(zip(counts.levels, links, strict=True), start=2):
        seen = _adjusted(counts, links, order)
        shares, factors = _interpolate(level.first, seen, discounts(seen), link, shares)
        log_probs.append(_log10(shares))
        back_offs.append(_log10(factors))
    return _table(counts, links, log_probs, back_offs)


def add_k(counts: Counts, settings: NgramModel) -> NgramTable:
    """Adds k to the count of every word after every context (Lidstone 1920).

    A context is the last order − 1 words, or all words since BEGIN; after an unseen one all words are equally likely.
    So shorter n-grams, to which unseen contexts back off, are uniform.
    """
    even, width = _even(counts), len(counts.words) - len(NEVER_WRITTEN)
    words = counts.words.copy()
    words[BEGIN] = 0
    alone = (words + settings.k) / (words.sum() + settings.k * width)
    log_probs, back_offs = [_log10(alone if counts.order == 1 else np.full(len(words), even))], []
    for order, level in enumerate(counts.levels, start=1):
        full = slice(0, len(level.first) - 1) if order == counts.order - 1 else _begun(counts, order)
        shares, factors = np.full(len(level.words), even), np.ones(len(level.first) - 1)
        children = slice(level.first[full.start], level.first[full.stop])
        first = level.first[full.start : full.stop + 1] - level.first[full.start]
        shares[children], factors[full] = _relative(first, level.counts[children], settings.k, width)
        log_probs.append(_log10(shares))
        back_offs.append(_log10(factors))
    return _table(counts, _links(counts), log_probs, back_offs)


def stupid_backoff(counts: Counts, settings: NgramModel) -> NgramTable:
    """Relative frequencies, with a fixed factor for each shorter context (Brants et al. 2007).

    These scores do not sum to one. The paper also applies the factor for unseen contexts; here, as in every back-off
    model, it starts from the longest seen context. The difference is the same for all words.
    """
    words = counts.words.astype(float)
    words[BEGIN] = 0
    log_probs = [_log10(words / words.sum() if words.any() else np.full(len(words), _even(counts)))]
    back_offs = []
    for level in counts.levels:
        log_probs.append(_log10(_relative(level.first, level.counts, 0.0, 0)[0]))
        back_offs.append(_log10(np.where(np.diff(level.first) > 0, settings.backoff, 1.0)))
    return _table(counts, _links(counts), log_probs, back_offs)


SMOOTHINGS: dict[str, Callable[[Counts, NgramModel], NgramTable]] = {
    "kneser_ney": kneser_ney,
    "add_k": add_k,
    "stupid_backoff": stupid_backoff,
}
"""Smoothings by their names in recipes."""


def _even(counts: Counts) -> float:
    """The uniform probability of tokens that can be generated."""
    return 1 / (len(counts.words) - len(NEVER_WRITTEN))


def _links(counts: Counts) -> list[Links]:
    """For the n-grams of each length from two: the number of the suffix (without the first word) of each, in the level
    below."""
    links = [level.words for level in counts.levels[:1]]
    for shorter, level in pairwise(counts.levels):
        links.append(_link_level(level.first, level.words, shorter.first, shorter.words, links[-1]))
    return links


def _adjusted(counts: Counts, links: list[Links], order: int) -> Int64[np.ndarray, " _"]:
    """The adjusted counts of one length for Kneser–Ney."""
    raw = counts.words if order == 1 else counts.levels[order - 2].counts
    if order == counts.order:
        return raw
    found = np.bincount(links[order - 1], minlength=len(raw))
    begun = _begun(counts, order)
    found[begun] = raw[begun]
    return found


def _begun(counts: Counts, order: int) -> slice:
    """The n-grams of this order that begin with BEGIN; they are contiguous."""
    found = slice(BEGIN, BEGIN + 1)
    for level in counts.levels[: order - 1]:
        found = slice(int(level.first[found.start]), int(level.first[found.stop]))
    return found


def _table(counts: Counts, links: list[Links], log_probs: list[Logs], back_offs: list[Logs]) -> NgramTable:
    """Concatenates all levels, with consecutive node numbers."""
    size = len(counts.words)
    log_probs[0][list(NEVER_WRITTEN)] = NEVER
    bounds = np.cumsum([0, size] + [len(level.words) for level in counts.levels])
    keys = np.empty(bounds[-1] - size + 1, np.int64)
    keys[-1] = LAST_KEY
    all_links = np.full(bounds[-1], -1, np.int32)
    first = np.full(bounds[max(1, counts.order - 1)] + 1, size, np.int32)
    for level, link, below, start, end in zip(counts.levels, links, bounds[:-2], bounds[1:-1], bounds[2:], strict=True):
        parents = np.repeat(np.arange(below, start), np.diff(level.first))
        np.multiply(parents, size, out=parents)
        np.add(parents, level.words, out=keys[start - size : end - size])
        np.add(link, below, out=all_links[start:end], casting="same_kind")
        first[below : start + 1] = level.first + start
    weights = np.concatenate(back_offs) if back_offs else np.zeros(size, np.float32)
    return NgramTable(size, bounds, keys, first, all_links, np.concatenate(log_probs), weights)


def _log10(numbers: Float64[np.ndarray, " n"]) -> Float32[np.ndarray, " n"]:
    found = np.full(len(numbers), NEVER, np.float32)
    np.log10(numbers, out=found, where=numbers > 0, casting="same_kind")
    return np.minimum(found, 0, out=found)


@njit(nogil=True, cache=True)
@no_type_check
def _link_level(
    first: Int32[np.ndarray, " ends"],
    words: Int32[np.ndarray, " nodes"],
    shorter_first: Int32[np.ndarray, " ends"],
    shorter_words: Int32[np.ndarray, " contexts"],
    links: Int32[np.ndarray, " contexts"],
) -> Int32[np.ndarray, " nodes"]:
    """Binary search: the children of a node are among those of its link, in the same order."""
    found = np.empty(len(words), np.int32)
    for context in range(len(first) - 1):
        low = shorter_first[links[context]]
        end = shorter_first[links[context] + 1]
        for node in range(first[context], first[context + 1]):
            high = end
            while low < high:
                middle = (low + high) // 2
                if shorter_words[middle] < words[node]:
                    low = middle + 1
                else:
                    high = middle
            found[node] = low
    return found


@njit(nogil=True, cache=True)
@no_type_check
def _interpolate(
    first: Int32[np.ndarray, " ends"],
    counts: Int64[np.ndarray, " nodes"],
    taken: Float64[np.ndarray, "4"],
    links: Int32[np.ndarray, " nodes"],
    shorter: Float64[np.ndarray, " shorter"],
) -> tuple[np.ndarray, np.ndarray]:
    """Discounted probabilities, interpolated with those of the suffixes, and each context's interpolation factor."""
    probabilities, factors = np.empty(len(counts)), np.ones(len(first) - 1)
    for context in range(len(first) - 1):
        total, mass = 0, 0.0
        for node in range(first[context], first[context + 1]):
            total += counts[node]
            mass += taken[min(counts[node], 3)]
        if total:
            factors[context] = mass / total
        for node in range(first[context], first[context + 1]):
            share = (counts[node] - taken[min(counts[node], 3)]) / total
            probabilities[node] = share + factors[context] * shorter[links[node]]
    return probabilities, factors


@njit(nogil=True, cache=True)
@no_type_check
def _relative(
    first: Int32[np.ndarray, " ends"], counts: Int64[np.ndarray, " nodes"], k: float, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each word after each context with k added to the counts of all `width` words, and the ratio of
    that of an unseen word to the uniform one."""
    probabilities, factors = np.empty(len(counts)), np.ones(len(first) - 1)
    for context in range(len(first) - 1):
        total = k * width
        for node in range(first[context], first[context + 1]):
            total += counts[node]
        if total > 0:
            factors[context] = k * width / total
        for node in range(first[context], first[context + 1]):
            probabilities[node] = (counts[node] + k) / total
    return probabilities, factors
