"""A back-off model as a trie in arrays."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from regard.tokens.vocabulary import BEGIN, PAD

LN10 = math.log(10)
NEVER = -99.0
"""log10 of probability zero, by the convention of ARPA files."""
TOLERANCE = 1e-3
"""How far sums of probabilities may be from one; those of ARPA files are rounded."""
LEAST_TOTAL = 1e-30
"""Lower bound of a sum of probabilities, for malformed files."""
NEVER_WRITTEN = (PAD, BEGIN)
"""Tokens that are never generated and have probability zero."""


@dataclass(frozen=True)
class NgramTable:
    """n-grams up to some order, with their log10 probabilities and the back-off weights of those that are contexts.

    An n-gram is a node, whose parent is the n-gram without its last word and whose children have one word more. Nodes
    are numbered by length, then by parent, then by word, so that a unigram's number is its word, the children of a node
    are contiguous, and `keys` (parent × V + word of every node of two words or more) is sorted. The n-gram without its
    first word, to which one backs off, is a node too, its `link`. Contexts are the nodes shorter than the order (for
    order 1, the unigrams, which have no children).
    """

    size: int
    """Size of the vocabulary, V, special tokens included."""
    bounds: Int64[np.ndarray, " bounds"]
    """Nodes of n words are those from bounds[n − 1] to bounds[n]."""
    keys: Int64[np.ndarray, " keys"]
    """Key of node i at i − V, then a sentinel."""
    first: Int32[np.ndarray, " ends"]
    """First child of each context, then the end of the last one's children."""
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
        """Memory of the arrays."""
        arrays = self.bounds, self.keys, self.first, self.links, self.log_probs, self.back_offs
        return sum(array.nbytes for array in arrays)

    @property
    def totals(self) -> Float64[np.ndarray, " contexts"]:
        """Natural logarithm of the sum of all probabilities after each context: 0 up to rounding, except for scores."""
        return self._summed[0]

    @property
    def means(self) -> Float64[np.ndarray, " contexts"]:
        """Mean over the vocabulary of all natural log-probabilities after each context, normalized."""
        return self._summed[1]

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of a context are those of its link times its back-off weight, except that each of its children has
        its own probability instead of the link's; so one pass over the n-grams is enough."""
        words = self.log_probs[: self.size].astype(float)
        # The last entry is the empty context, to which unigrams link (−1).
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
            # In place, as these are the largest arrays.
            own = np.power(10, own, out=own)
            own -= np.power(10, other, out=other)
            totals[here] = 10**weights * totals[self.links[here]] + np.bincount(parents, own, len(weights))
            means[here] = weights + means[self.links[here]] + raised / self.size
        logs = np.log(np.maximum(totals[:-1], LEAST_TOTAL))
        return logs, means[:-1] * LN10 - logs

    def level(self, words: int) -> slice:
        """The nodes of n-grams with that many words."""
        return slice(int(self.bounds[words - 1]), int(self.bounds[words]))


LAST_KEY = np.iinfo(np.int64).max
MOST_NODES = np.iinfo(np.int32).max
"""Most n-grams that int32 can number."""


def unread_table(order: int, size: int) -> NgramTable:
    """The untrained model: uniform over all tokens that can be generated."""
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
