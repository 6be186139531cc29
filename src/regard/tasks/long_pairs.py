"""Pairs that are too long to be aligned: they get no links and a warning, and the rest of a text is not lost.

A table of the probabilities of a pair has as many cells as its texts have words, multiplied, and some lines of crawled
text have a million.
"""

import warnings

import numpy as np

from regard.errors import ModelWarning
from regard.inspect import Alignment, WordWeights

MOST_WORDS = 3000
"""Words of a side."""


def is_too_long(source_words: int, target_words: int) -> bool:
    return max(source_words, target_words) > MOST_WORDS


def no_links(source: str, source_words: int, target_words: int, *, both: bool) -> Alignment:
    """The alignment of such a pair, in one direction or in both; its table is empty."""
    warnings.warn(
        f'a pair of {source_words:,} and {target_words:,} words ("{source[:40]}…") is too long to be aligned and gets '
        f"no links; at most {MOST_WORDS:,} words on a side are: split it into sentences",
        ModelWarning,
        stacklevel=5,
    )
    nothing = WordWeights(np.zeros((0, 0)), np.zeros(0))
    return Alignment(nothing, nothing if both else None, float("-inf"))
