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

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.inspect.inspection import Links
from regard.inspect.symmetrization import GROW_DIAG, Joining, harmonic_mean, reaching, symmetrize


@dataclass(frozen=True)
class WordWeights:
    """How much each target word attended to each source word, and to tokens outside words."""

    weights: Float[np.ndarray, "T S"]
    elsewhere: Float[np.ndarray, " T"]
    """Weight that went to tokens without a word: END, mostly."""
    blocks: Sequence[int] | None = None
    """For each source word its block: words that share a token have one weight, and are linked together."""
    chosen: Links | None = None
    """The links themselves, if they were not found by the largest weight."""


def fold(
    weights: Float[np.ndarray, "T S"],
    target_words: Sequence[int | None],
    source_words: Sequence[int | None],
    counts: tuple[int, int] = (0, 0),
) -> WordWeights:
    """Word-to-word weights from weights between their pieces.

    Weights to the pieces of a source word are summed, those from the pieces of a target word averaged (Clark et al.
    2019), so a target word's weights and its `elsewhere` still sum to what a row summed to. The number of words is the
    largest index plus one, or that in `counts` (target, source) if it is larger; a word without pieces gets zeros.
    """
    if weights.shape != (len(target_words), len(source_words)):
        raise UsageError(
            f"weights of shape {weights.shape} do not fit {len(target_words)} target and {len(source_words)} "
            "source tokens; give for every token its word, or None"
        )
    into, nowhere = _membership(source_words, counts[1])
    out_of, _ = _membership(target_words, counts[0])
    pieces = np.maximum(out_of.sum(axis=0), 1.0)[:, None]
    rows = (out_of.T @ weights.astype(np.float64)) / pieces
    return WordWeights(rows @ into, rows @ nowhere)


def _membership(
    words: Sequence[int | None], least: int
) -> tuple[Float[np.ndarray, "tokens words"], Float[np.ndarray, " tokens"]]:
    """1 where a token (row) is a piece of a word (column); and 1 where a token is of no word."""
    if any(word is not None and word < 0 for word in words):
        raise UsageError(f"words are counted from 0, but one of {list(words)} is negative")
    count = max(least, 1 + max((word for word in words if word is not None), default=-1))
    belongs = np.zeros((len(words), count))
    for token, word in enumerate(words):
        if word is not None:
            belongs[token, word] = 1.0
    return belongs, np.array([float(word is None) for word in words])


def link(words: WordWeights, threshold: float = 0.0) -> Links:
    """Links every target word with the source word it looked at most, the first of equals, and all of its block.

    A word stays without a link if it looked more at END than at any word, if it looked at nothing at all, or if its
    largest weight is below the threshold.
    """
    if words.chosen is not None:
        return frozenset(pair for pair in words.chosen if words.weights[pair[::-1]] >= threshold)
    if not words.weights.shape[1]:
        return frozenset()
    best = words.weights.argmax(axis=1)
    weight = words.weights.max(axis=1)
    sure = (weight >= words.elsewhere) & (weight > 0.0) & (weight >= threshold)
    linked = [(int(best[target]), int(target)) for target in np.flatnonzero(sure)]
    if words.blocks is None:
        return frozenset(linked)
    together: dict[int, list[int]] = {}
    for source, block in enumerate(words.blocks):
        together.setdefault(block, []).append(source)
    return frozenset((source, target) for one, target in linked for source in together[words.blocks[one]])


def reverse(links: Collection[tuple[int, int]]) -> Links:
    """The same links with source and target changed, as a model of the other direction gives them."""
    return frozenset((target, source) for source, target in links)


@dataclass(frozen=True)
class Alignment:
    """A model's weights for the links between the words of one pair, in one direction or in both."""

    forward: WordWeights
    """Of each target word over the source words."""
    backward: WordWeights | None = None
    """Of each source word over the target words."""
    score: float | None = None
    """How well the two texts fit, as the mean log-probability of a word, if requested."""

    @property
    def probabilities(self) -> Float[np.ndarray, "T S"]:
        """Of every link: the weight, or the harmonic mean of those of both directions."""
        if self.backward is None:
            return self.forward.weights
        return harmonic_mean(self.forward.weights, self.backward.weights)

    @property
    def directions(self) -> tuple[Links, Links]:
        """The links of each direction by itself; empty for a missing direction."""
        return link(self.forward), frozenset() if self.backward is None else reverse(link(self.backward))

    def links(self, joining: Joining = GROW_DIAG) -> Links:
        """The links of both directions, joined; those of the only direction if there is one."""
        if self.backward is None:
            return link(self.forward, joining.threshold or 0.0)
        if joining.method == "by-probability":
            return reaching(self.probabilities, joining.least)
        forward, backward = link(self.forward, joining.least), reverse(link(self.backward, joining.least))
        return symmetrize(forward, backward, joining.method)

    def joined(self, other: "Alignment") -> "Alignment":
        """This direction with that of a model that wrote the source given the target."""
        scores = [each.score for each in (self, other) if each.score is not None]
        return Alignment(self.forward, other.forward, sum(scores) / len(scores) if scores else None)
