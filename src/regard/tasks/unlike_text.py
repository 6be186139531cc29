"""Detects text that is tokenized differently from an aligner's training text, is in another language, or has its sides
swapped: each costs more links than any method gains."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from regard.tokens.segmentation import has_no_blanks, parts_of

FEWEST = 200
"""Least number of words to judge by."""
JOINED = 0.03
"""Share of words whose parts were words in training."""
ALONE = 0.03
"""Share of words without letters and digits, beyond twice that in training."""
UNKNOWN = 0.2
"""Share of unknown words, beyond twice that of words that occurred once in training (Good 1953)."""
LONGER = 1.25
"""Mean length of words of a script without blanks in training, above which words of one character are suspicious."""
SWAPPED = 0.2
"""Least increase in the share of known words when the sides are exchanged."""


@dataclass(frozen=True)
class KnownText:
    """One side of a training text: its words, by number, and how often each occurs."""

    numbers: Mapping[str, int]
    occurrences: Int64[np.ndarray, " words"]

    @cached_property
    def _total(self) -> int:
        return max(int(self.occurrences.sum()), 1)

    @cached_property
    def alone(self) -> float:
        """The share of words without letters and digits."""
        return (
            sum(int(self.occurrences[number]) for word, number in self.numbers.items() if _is_sign(word)) / self._total
        )

    @cached_property
    def once(self) -> float:
        """The share of words that occur once, which estimates that of unknown words in more such text."""
        return int((self.occurrences == 1).sum()) / self._total

    @cached_property
    def unspaced(self) -> float:
        """The mean length of words of scripts without blanks; 0 if there are none."""
        lengths = {word: len(parts_of(word)) for word in self.numbers if has_no_blanks(word)}
        count = sum(int(self.occurrences[self.numbers[word]]) for word in lengths)
        total = sum(length * int(self.occurrences[self.numbers[word]]) for word, length in lengths.items())
        return total / count if count else 0.0


def tokenized_otherwise(words: Sequence[str], known: KnownText) -> str:
    """A warning about the words of one side, or empty."""
    if len(words) < FEWEST:
        return ""
    unknown = [word for word in words if word not in known.numbers]
    joined = [word for word in unknown if _is_made_of(word, known.numbers)]
    if len(joined) > JOINED * len(words):
        return f"{joined[0]!r} is not known, but its parts are: put blanks between them"
    signs = Counter(filter(_is_sign, words))
    if signs.total() > (2 * known.alone + ALONE) * len(words):
        ((sign, _),) = signs.most_common(1)
        return f"{sign!r} stands alone more often than there: leave it with its word"
    lengths = [len(parts_of(word)) for word in words if has_no_blanks(word)]
    if len(lengths) >= FEWEST and max(lengths) == 1 and known.unspaced > LONGER:
        return f"each character stands alone, and words have {known.unspaced:.1f} there: segment it as that was"
    if len(unknown) > (2 * known.once + UNKNOWN) * len(words):
        share = len(unknown) / len(words)
        return f"{share:.0%} of its words, such as {unknown[0]!r}, do not occur there; or it is in another language"
    return ""


def is_swapped(sides: Sequence[Sequence[str]], known: Sequence[KnownText]) -> bool:
    """Whether each side seems to be in the language of the other side of the training text."""
    words = sum(map(len, sides))
    in_place, exchanged = (
        sum(word in text.numbers for side, text in zip(sides, order, strict=True) for word in side)
        for order in (known, known[::-1])
    )
    return words >= FEWEST and exchanged - in_place > SWAPPED * words


def _is_made_of(word: str, known: Mapping[str, int]) -> bool:
    parts = parts_of(word)
    return len(parts) > 1 and all(word[start:end] in known for start, end in parts)


def _is_sign(word: str) -> bool:
    return not any(map(str.isalnum, word))
