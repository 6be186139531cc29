"""Word alignments from attention.

    words = fold(choose(weights), target_words, source_words)     # subwords to words, END set aside
    links = link(words)                                           # {(0, 0), (2, 1), …}: (source word, target word)
    pharaoh(links)                                                # "0-0 2-1"

`target_words` gives for each row of the weights its word, or None for END and other tokens that are no word. A row
belongs to the token that it helped to write: for the target `a b` the rows are `a b END`, so the words are
`[0, 1, None]`. To read a row as belonging to the token that was read in that step (Chen et al. 2020 find that better
for upper layers of Transformers), the rows are `BEGIN a b`: pass `[None, 0, 1]`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.inspect.inspection import Links

Symmetrization = Literal["intersection", "union", "grow-diag"]


@dataclass(frozen=True)
class WordWeights:
    """How much each target word attended to each source word, and to what is no word."""

    weights: Float[np.ndarray, "T S"]
    elsewhere: Float[np.ndarray, " T"]
    """Weight that went to tokens without a word: END, mostly."""


def fold(
    weights: Float[np.ndarray, "T S"], target_words: Sequence[int | None], source_words: Sequence[int | None]
) -> WordWeights:
    """Weights between words from weights between their pieces.

    A source word gets the sum of what its pieces got; a target word looks where its pieces look on average
    (Clark et al. 2019), so a target word's weights and its `elsewhere` still sum to what a row summed to.
    Words are 0 … the largest index given; one that has no piece gets zeros.
    """
    if weights.shape != (len(target_words), len(source_words)):
        raise UsageError(
            f"weights of shape {weights.shape} do not fit {len(target_words)} target and {len(source_words)} "
            "source tokens; give for every token its word, or None"
        )
    into, nowhere = _membership(source_words)
    out_of, _ = _membership(target_words)
    pieces = np.maximum(out_of.sum(axis=0), 1.0)[:, None]
    rows = (out_of.T @ weights.astype(np.float64)) / pieces
    return WordWeights(rows @ into, rows @ nowhere)


def _membership(words: Sequence[int | None]) -> tuple[Float[np.ndarray, "tokens words"], Float[np.ndarray, " tokens"]]:
    """1 where a token (row) is a piece of a word (column); and 1 where a token is of no word."""
    if any(word is not None and word < 0 for word in words):
        raise UsageError(f"words are counted from 0, but one of {list(words)} is negative")
    count = 1 + max((word for word in words if word is not None), default=-1)
    belongs = np.zeros((len(words), count))
    for token, word in enumerate(words):
        if word is not None:
            belongs[token, word] = 1.0
    return belongs, np.array([float(word is None) for word in words])


def link(words: WordWeights, threshold: float = 0.0) -> Links:
    """Links every target word with the source word it looked at most, the first of equals.

    A word stays without a link if it looked more at END than at any word, if it looked at nothing at all, or if its
    largest weight is below the threshold.
    """
    if not words.weights.shape[1]:
        return frozenset()
    best = words.weights.argmax(axis=1)
    weight = words.weights.max(axis=1)
    sure = (weight >= words.elsewhere) & (weight > 0.0) & (weight >= threshold)
    return frozenset((int(best[target]), int(target)) for target in np.flatnonzero(sure))


def reverse(links: Collection[tuple[int, int]]) -> Links:
    """The same links with source and target changed, as a model of the other direction gives them."""
    return frozenset((target, source) for source, target in links)


def symmetrize(forward: Links, backward: Links, method: Symmetrization = "grow-diag") -> Links:
    """One set of links from those of two models, both as (source, target); `reverse` turns the second model's.

    `grow-diag` (Koehn et al. 2003) begins with the links that both have and adds those of either that neighbor one
    already chosen, also diagonally, as long as one of their two words is still without a link.
    """
    both, either = forward & backward, forward | backward
    if method == "intersection":
        return both
    if method == "union":
        return either
    chosen = set(both)
    grown = True
    while grown:
        sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
        fits = (
            (source, target)
            for source, target in sorted(either - chosen)
            if (source not in sources or target not in targets)
            and any((source + right, target + down) in chosen for right in (-1, 0, 1) for down in (-1, 0, 1))
        )
        new = next(fits, None)
        grown = new is not None
        if new is not None:
            chosen.add(new)
    return frozenset(chosen)
