"""Splitting text into units before subwords are found, and counting units.

A space is prepended to the text; then a space and the letters after it are one unit (" Haus"), and so are a space and a
digit, or a space and a run of the same other character ("..."). Subwords never cross units. Any other white space is a
unit by itself. Nothing is removed or replaced, so joining subwords restores the text exactly, without a special
character for the start of a word.

No unit continues after a space. So text can be split at spaces, which is fast, and each distinct word into units once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Regex, pre_tokenizers

UNITS = pre_tokenizers.Split(Regex(r" ?[\p{L}\p{M}]+| ?\p{N}| ?([^\s\p{L}\p{M}\p{N}])\1*|\s"), "isolated")

_AT_ONCE = 1024
"""Texts split together."""

_MOST = 1 << 18
"""Limit of distinct words in memory: text without spaces may have a new one in every line."""


def split(text: str) -> list[str]:
    """The units of a text that begins with a space."""
    return [unit for unit, _ in UNITS.pre_tokenize_str(text)]


def count_units(texts: Iterable[str]) -> Counter[str]:
    """Counts the units of texts, with a space prepended to each."""
    units: Counter[str] = Counter()
    for words in _counted_words(texts):
        for word, count in words.items():
            for unit in split(" " + word):
                units[unit] += count
    return units


def _counted_words(texts: Iterable[str]) -> Iterator[Counter[str]]:
    """Word counts of the texts, in one or more portions."""
    words: Counter[str] = Counter()
    waiting = iter(texts)
    while some := list(islice(waiting, _AT_ONCE)):
        words.update(" ".join(some).split(" "))
        if len(words) > _MOST:
            yield words
            words = Counter()
    yield words


def count_characters(units: Counter[str]) -> Counter[str]:
    characters: Counter[str] = Counter()
    for unit, count in units.items():
        for character in unit:
            characters[character] += count
    return characters


def without(units: Counter[str], characters: Iterable[str]) -> Counter[str]:
    """The units of the same texts with some characters replaced by line breaks, which are units by themselves, so that
    no subword crosses them."""
    breaks = str.maketrans(dict.fromkeys(characters, "\n"))
    if not breaks:
        return units
    replaced: Counter[str] = Counter()
    for unit, count in units.items():
        broken = unit.translate(breaks)
        for part in [unit] if broken == unit else split(broken):
            replaced[part] += count
    return replaced
