"""The built-in dates, tagged: which words of a date are its year, its month and its day.

    Wed   ,   3       Mar       2021
    O     O   B-DAY   B-MONTH   B-YEAR

Words are split at spaces and punctuation, and into characters in scripts without spaces. A word that has more in it
than a part of the date (the Hebrew for "in August", the Korean for "year 2021") is tagged as that part.
"""

from collections.abc import Iterable

from regard.data.dates.corpus import DateExamples, grammar_of
from regard.data.examples import Pair, Split
from regard.data.generated import held_out_size
from regard.data.tagged import TaggedCorpora, TaggedPart, TaggedSentence
from regard.errors import counted
from regard.recipe import TaggingData
from regard.tokens.segmentation import smallest_parts_of
from regard.tokens.tag_schemes import OUTSIDE, Marked, tags_of

PARTS = ("YEAR", "MONTH", "DAY")
"""The parts that the links of a date belong to, in order."""


def tagged_dates(data: TaggingData, seed: int, splits: Iterable[Split]) -> TaggedCorpora:
    """As many dates as the settings say."""
    grammar = grammar_of(tuple(data.languages))
    parts: dict[Split, TaggedPart] = {}
    for split in splits:
        size = data.examples if split == "train" else held_out_size(data.examples)
        sentences = tuple(tagged(pair) for pair in DateExamples(grammar, seed, split, size))
        words = sum(len(sentence.words) for sentence in sentences)
        parts[split] = TaggedPart(sentences, f"{counted(len(sentences), 'date')}, {counted(words, 'word')}")
    return TaggedCorpora(parts, "iob2")


def tagged(pair: Pair) -> TaggedSentence:
    """The words of a date with their tags."""
    words = smallest_parts_of(pair.source)
    parts = [_part(pair, start, end) for start, end in words]
    # Neighbors of one part are one span: characters of a script without spaces, or "3." with its dot.
    marked: list[Marked] = []
    begun = 0
    for place, part in enumerate(parts):
        if place + 1 == len(parts) or parts[place + 1] != part:
            marked += [] if part == OUTSIDE else [(begun, place + 1, part)]
            begun = place + 1
    tags = tags_of(marked, len(words), "iob2")
    return TaggedSentence(tuple(pair.source[start:end] for start, end in words), tuple(tags))


def _part(pair: Pair, start: int, end: int) -> str:
    """Which part of a date the characters from start to end belong to."""
    for name, ((first, last), _) in zip(PARTS, pair.links, strict=True):
        if first < end and start < last:
            return name
    return OUTSIDE
