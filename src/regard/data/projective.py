"""Projective trees: those whose arcs do not cross when drawn above the root and the words.

A parser that can only produce projective trees is trained on projectivized trees: the shortest non-projective arc is
lifted to the head of its head, until none is left (Nivre and Nilsson 2005). Words with a changed head are counted, as
the parser learns a wrong head for each of them.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int


def is_projective(heads: Int[np.ndarray, " W"] | Sequence[int]) -> bool:
    """Whether no arcs cross; the heads are those of a tree, in the numbers of CoNLL-U."""
    return not _shortest_crossed(_plain(heads))


def made_projective(heads: Int[np.ndarray, " W"] | Sequence[int]) -> tuple[list[int], int]:
    """The heads of the projectivized tree, and the number of words whose head has changed."""
    before = _plain(heads)
    after = before.copy()
    while word := _shortest_crossed(after):
        after[word - 1] = after[after[word - 1] - 1]
    return after, sum(old != new for old, new in zip(before, after, strict=True))


def _plain(heads: Int[np.ndarray, " W"] | Sequence[int]) -> list[int]:
    return [int(head) for head in heads]


def _shortest_crossed(heads: Sequence[int]) -> int:
    """The word with the shortest non-projective arc, the first of several; 0 if there is none. An arc is projective if
    all words below it descend from its head."""
    found, length = 0, len(heads) + 1
    for word, head in enumerate(heads, start=1):
        if head == 0 or abs(word - head) >= length:
            continue
        for inside in range(min(word, head) + 1, max(word, head)):
            above = inside
            while above and above != head:
                above = heads[above - 1]
            if not above:
                found, length = word, abs(word - head)
                break
    return found
