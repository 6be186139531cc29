"""Toy corpora with known answers: strings of letters to copy or to reverse."""

from string import ascii_lowercase

from regard.data.examples import Corpora, Pair, Split
from regard.data.generated import Generated, split_of, three_splits
from regard.recipe import Data

LONGEST = 10
"""Most letters of a string, unless `data.longest` is less."""


class SequenceExamples(Generated):
    """Strings of 1 to `longest` letters without spaces. Each string belongs to one split, whatever seed and size."""

    def __init__(self, seed: int, split: Split, size: int, *, reverse: bool, longest: int = LONGEST) -> None:
        super().__init__(seed, split, size)
        self.reverse = reverse
        self.longest = longest

    def example(self, index: int) -> Pair:
        attempt = 0
        while split_of(source := _letters(self.draw(index, attempt), self.longest)) != self.split:
            attempt += 1
        spans = [(place, place + 1) for place in range(len(source))]
        if self.reverse:
            return Pair(source, source[::-1], tuple(zip(spans, reversed(spans), strict=True)))
        return Pair(source, source, tuple(zip(spans, spans, strict=True)))


def copy_corpus(data: Data, seed: int) -> Corpora:
    """Strings to be copied."""
    return _corpus(data, seed, reverse=False)


def reverse_corpus(data: Data, seed: int) -> Corpora:
    """Strings to be written backwards."""
    return _corpus(data, seed, reverse=True)


def _corpus(data: Data, seed: int, *, reverse: bool) -> Corpora:
    longest = min(LONGEST, data.longest)
    return three_splits(
        lambda split, size: SequenceExamples(seed, split, size, reverse=reverse, longest=longest), data.examples
    )


def _letters(chance: int, longest: int) -> str:
    chance, length = divmod(chance, longest)
    letters = ""
    for _ in range(1 + length):
        chance, letter = divmod(chance, len(ascii_lowercase))
        letters += ascii_lowercase[letter]
    return letters
