"""A back-off model as a trie in arrays."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from regard.tokens.vocabulary import BEGIN, PAD

LN10 = math.log(10)
NEVER = -99.0
"""The log10 that stands for probability zero, as is usual in ARPA files."""
TOLERANCE = 1e-3
"""How far from one probabilities may sum; those of ARPA files are rounded."""
LEAST_TOTAL = 1e-30
"""What a sum of probabilities is taken for that malformed ones have made less."""
NEVER_WRITTEN = (PAD, BEGIN)
"""Tokens that a text never goes on with; they share no probability."""


@dataclass(frozen=True)
class NgramTable:
    """n-grams up to some order, with their log10 probabilities and the back-off weights of those that are contexts.

    An n-gram is a node, whose parent is the n-gram without its last word and whose children go on by one word. Nodes
    are numbered by length, then by parent, then by word, so that a unigram's number is its word, the children of a node
    stand together, and `keys`, which is parent × V + word of every node of two words or more, is sorted. The n-gram
    without its first word is a node too, its `link`: where one backs off to. Contexts are the nodes shorter than
    the order (of order 1, the unigrams, which have no children).
    """

    size: int
    """Tokens of the vocabulary, V, the special ones included."""
    bounds: Int64[np.ndarray, " bounds"]
    """Nodes of n words are those from bounds[n − 1] to bounds[n]."""
    keys: Int64[np.ndarray, " keys"]
    """Key of node i at i − V, and after the last one a key that no node has."""
    first: Int32[np.ndarray, " ends"]
    """First child of each context, with the end of the last one's children."""
    links: Int32[np.ndarray, " nodes"]
    """Node of the n-gram without its first word; −1 for unigrams."""
    log_probs: Float32[np.ndarray, " nodes"]
    """log10 of the probability of the last word after the others."""
    back_offs: Float32[np.ndarray, " contexts"]
    """log10 of the factor for words that do not follow this context, but may follow its link."""

    @property
    def order(self) -> int:
        return len(self.bounds) - 1

    @property
    def contexts(self) -> int:
        return len(self.back_offs)

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        arrays = self.bounds, self.keys, self.first, self.links, self.log_probs, self.back_offs
        return sum(array.nbytes for array in arrays)

    @property
    def totals(self) -> Float64[np.ndarray, " contexts"]:
        """Natural logarithm of the sum of all probabilities after each context: 0 but for rounding, or for scores."""
        return self._summed[0]

    @property
    def means(self) -> Float64[np.ndarray, " contexts"]:
        """Mean over the vocabulary of all natural log-probabilities after each context, once they sum to one."""
        return self._summed[1]

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        """A context's sums are those of its link, by its back-off weight, but for its own children, each of which has
        a probability of its own instead of the one that its link has; so one pass over the n-grams finds them."""
        words = self.log_probs[: self.size].astype(float)
        # The last entry is that of no context at all, which is what unigrams link to: −1.
        totals, means = np.empty((2, self.contexts + 1))
        totals[-1], means[-1] = (10**words).sum(), words.mean()
        for length in range(1, max(2, self.order)):
            here = self.level(length)
            longer = slice(here.stop, int(self.bounds[min(length + 1, self.order)]))
            weights = self.back_offs[here].astype(float)
            parents = self.keys[longer.start - self.size : longer.stop - self.size] // self.size
            parents -= here.start
            own, other = self.log_probs[longer].astype(float), weights[parents]
            other += self.log_probs[self.links[longer]]
            raised = np.bincount(parents, own - other, len(weights))
            # In place, as these are the largest arrays there are.
            own = np.power(10, own, out=own)
            own -= np.power(10, other, out=other)
            totals[here] = 10**weights * totals[self.links[here]] + np.bincount(parents, own, len(weights))
            means[here] = weights + means[self.links[here]] + raised / self.size
        logs = np.log(np.maximum(totals[:-1], LEAST_TOTAL))
        return logs, means[:-1] * LN10 - logs

    def level(self, words: int) -> slice:
        """The nodes of that many words."""
        return slice(int(self.bounds[words - 1]), int(self.bounds[words]))


LAST_KEY = np.iinfo(np.int64).max
MOST_NODES = np.iinfo(np.int32).max
"""n-grams that their numbers have room for."""


def unread_table(order: int, size: int) -> NgramTable:
    """The model that has read nothing: every token that can be written is as likely as every other."""
    log_probs = np.full(size, -np.log10(size - len(NEVER_WRITTEN)), np.float32)
    log_probs[list(NEVER_WRITTEN)] = NEVER
    return NgramTable(
        size,
        bounds=np.array([0] + [size] * order),
        keys=np.array([LAST_KEY]),
        first=np.full(size + 1, size, np.int32),
        links=np.full(size, -1, np.int32),
        log_probs=log_probs,
        back_offs=np.zeros(size, np.float32),
    )
