"""BPE dropout (Provilkov et al. 2020) that can be seeded and is fast.

At each step of BPE every possible merge of a word is skipped with probability p, and the best of the rest is made;
when all are skipped, the word stays as it is. Whether a merge that is not the best was skipped only matters when all
better ones were. So a step goes along the merges, best first, until one is not skipped, and the number of steps up to
the next one whose best merge is skipped has a geometric distribution. What a word becomes by each merge is the same
every time: it is remembered, and most words need no more than one look-up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

_MOST_REMEMBERED = 400_000
_LONGEST_REMEMBERED = 32
_DRAWN_AT_ONCE = 16


class _Split:
    """A word as it is split at some step, and what it becomes by each merge that is possible, best first."""

    __slots__ = ("last", "merges", "next", "steps", "tokens")

    def __init__(self, tokens: tuple[int, ...], merges: list[tuple[int, int, int]]) -> None:
        self.tokens = tokens
        self.merges = merges  # (rank, place, merged token)
        self.next: list[_Split | None] = [None] * len(merges)
        self.steps = -1  # best merges until none is left, and what they lead to; known when they were made once
        self.last = tokens


class Merges:
    """Samples how words are split, given the merges of a BPE model: pair of tokens -> (rank, merged token)."""

    def __init__(
        self, table: Mapping[tuple[int, int], tuple[int, int]], find: Callable[[str], int], share: float
    ) -> None:
        self._table = table
        self._find = find
        self._share = share
        self._words: dict[str, _Split] = {}
        self._splits: dict[tuple[int, ...], _Split] = {}

    def sample(self, words: Sequence[str], rng: np.random.Generator) -> list[int]:
        """The tokens of all words."""
        if len(self._splits) + len(self._words) > _MOST_REMEMBERED:
            self._words.clear()
            self._splits.clear()
        kept_before_skip = _geometric(rng, self._share)
        skipped_after_skip = _geometric(rng, 1 - self._share)
        kept = next(kept_before_skip)
        found: list[int] = []
        for word in words:
            split = self._words.get(word) or self._first(word)
            while kept < split.steps or split.steps < 0:
                if kept:
                    kept -= 1
                    split = split.next[0] or self._merged(split, 0)
                    continue
                choice = 1 + next(skipped_after_skip)
                kept = next(kept_before_skip)
                if choice >= len(split.next):
                    found += split.tokens
                    break
                split = split.next[choice] or self._merged(split, choice)
            else:
                kept -= split.steps
                found += split.last
        return found

    def _first(self, word: str) -> _Split:
        split = self._split(tuple(map(self._find, word)))
        if len(word) <= _LONGEST_REMEMBERED:
            self._words[word] = split
        return split

    def _merged(self, split: _Split, choice: int) -> _Split:
        _, place, token = split.merges[choice]
        merged = self._split((*split.tokens[:place], token, *split.tokens[place + 2 :]))
        if len(split.tokens) <= _LONGEST_REMEMBERED:
            split.next[choice] = merged
        return merged

    def _split(self, tokens: tuple[int, ...]) -> _Split:
        known = self._splits.get(tokens)
        if known is not None:
            return known
        table = self._table
        places = [(place, table[pair]) for place, pair in enumerate(pairwise(tokens)) if pair in table]
        split = _Split(tokens, sorted((rank, place, token) for place, (rank, token) in places))
        if not split.merges:
            split.steps = 0
        if len(tokens) <= _LONGEST_REMEMBERED:
            self._splits[tokens] = split
            if split.merges:
                best = self._merged(split, 0)
                split.steps, split.last = best.steps + 1, best.last
        return split


def _geometric(rng: np.random.Generator, share: float) -> Iterator[int]:
    """Numbers of failures before a success of probability `share`, drawn as they are needed."""
    while True:
        yield from (rng.geometric(share, size=_DRAWN_AT_ONCE) - 1).tolist()
