"""How text is split before subwords are looked for, and how often each unit occurs.

A space is put before the text; then a space and the letters after it are one unit (" Haus"), and so are a space and a
digit, or a space and a run of one and the same other character ("..."). Subwords never cross these units. Every other
white space is a unit by itself. Nothing is ever removed or replaced, so joining subwords gives the text back exactly,
and the space that marks the beginning of a word cannot be confused with anything else in the text.

No unit goes on after a space. So text can be taken apart at its spaces, which is quick, and what stands between two of
them is split into units only once, however often it occurs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from tokenizers import Regex, pre_tokenizers

UNITS = pre_tokenizers.Split(Regex(r" ?[\p{L}\p{M}]+| ?\p{N}| ?([^\s\p{L}\p{M}\p{N}])\1*|\s"), "isolated")

_AT_ONCE = 1024
"""Texts taken apart together."""

_MOST = 1 << 18
"""Different words held in memory before they are split: text without spaces may have a new one in every line."""


def split(text: str) -> list[str]:
    """The units of a text that begins with a space."""
    return [unit for unit, _ in UNITS.pre_tokenize_str(text)]


def count_units(texts: Iterable[str]) -> Counter[str]:
    """How often each unit occurs in texts, a space before each."""
    units: Counter[str] = Counter()
    for words in _counted_words(texts):
        for word, count in words.items():
            for unit in split(" " + word):
                units[unit] += count
    return units


def _counted_words(texts: Iterable[str]) -> Iterator[Counter[str]]:
    """How often each word occurs in some of the texts, and in the others."""
    words: Counter[str] = Counter()
    waiting = iter(texts)
    while some := list(islice(waiting, _AT_ONCE)):
        words.update(" ".join(some).split(" "))
        if len(words) > _MOST:
            yield words
            words = Counter()
    yield words


def count_characters(units: Counter[str]) -> Counter[str]:
    """How often each character occurs."""
    characters: Counter[str] = Counter()
    for unit, count in units.items():
        for character in unit:
            characters[character] += count
    return characters


def without(units: Counter[str], characters: Iterable[str]) -> Counter[str]:
    """The units of the same texts with a line break in the place of some characters: white space, and so a unit by
    itself, which keeps subwords from crossing them."""
    breaks = str.maketrans(dict.fromkeys(characters, "\n"))
    if not breaks:
        return units
    others: Counter[str] = Counter()
    for unit, count in units.items():
        broken = unit.translate(breaks)
        for part in [unit] if broken == unit else split(broken):
            others[part] += count
    return others
