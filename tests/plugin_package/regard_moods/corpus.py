"""A corpus of one's own: numbers from one to twelve, in figures and in words."""

from regard.data.examples import Corpora, Pair
from regard.recipe import Data

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def number_words(data: Data, seed: int) -> Corpora:
    pairs = tuple(
        Pair(f"{one + 1}-{two + 1}", f"{first}-{second}")
        for one, first in enumerate(WORDS)
        for two, second in enumerate(WORDS)
    )
    return Corpora(pairs[: data.examples], pairs[-9:-5], pairs[-5:])
