"""The built-in corpus: dates as people write them, to be read into ISO 8601.

    Wed, 3 Mar 2021            2021-03-03
    en-GB: 03/04/2021          2021-04-03
    ۳ مارس ۲۰۲۱                2021-03-03

Example i is a function of seed, split and i alone (and of Babel's version, which brings the CLDR data), so a corpus
of any size needs no memory and a larger one begins with a smaller one. Each calendar date belongs to one split,
whatever seed and size. A text that different languages read differently carries its language as a tag; one that is
ambiguous even in its own language, and a year that two digits cannot express, are redrawn, and counted.
"""

from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Literal

from regard.data.dates.counts import count
from regard.data.dates.fields import FIRST_YEAR, LAST_YEAR
from regard.data.dates.grammar import Grammar
from regard.data.dates.languages import LANGUAGES, Language
from regard.data.dates.styles import Style
from regard.data.examples import Corpora, Pair, Split
from regard.data.generated import Generated, split_of, three_splits
from regard.errors import DataError, one_of
from regard.recipe import Data

LeftOut = Literal["century", "ambiguous"]

_YEAR, _MONTH, _DAY = (0, 4), (5, 7), (8, 10)


@dataclass(frozen=True)
class DrawnDate:
    """An example with how it came about."""

    pair: Pair
    style: Style
    tagged: bool
    left_out: tuple[LeftOut, ...]
    """Why each earlier draw was rejected."""


class DateExamples(Generated):
    """One split of the corpus."""

    def __init__(self, grammar: Grammar, seed: int, split: Split, size: int) -> None:
        super().__init__(seed, split, size)
        self.grammar = grammar

    def example(self, index: int) -> Pair:
        return self.drawn(index).pair

    def summary(self) -> list[str]:
        return count(self).lines()

    def drawn(self, index: int) -> DrawnDate:
        """Example `index`, and the draws rejected before it."""
        days = _days(self.split)
        languages = self.grammar.languages
        language = languages[self.draw(index, 0) % len(languages)]
        styles = self.grammar.styles[language.code]
        left_out: list[LeftOut] = []
        while True:
            # The next draw keeps the language, so that no language is rarer because its dates are more ambiguous.
            chance, which = divmod(self.draw(index, 1 + len(left_out)), len(styles))
            style, (year, month, day, weekday) = styles[which], days[chance % len(days)]
            written = style.form.write(year, month, day, weekday)
            if written is None:
                left_out.append("century")
                continue
            reading = self.grammar.reading(written.text, language)
            if reading != "ambiguous":
                break
            left_out.append("ambiguous")
        tag = f"{language.code}: " if reading == "tagged" else ""
        links = tuple(
            ((start + len(tag), end + len(tag)), target)
            for (start, end), target in ((written.year, _YEAR), (written.month, _MONTH), (written.day, _DAY))
        )
        pair = Pair(tag + written.text, f"{year:04d}-{month:02d}-{day:02d}", links, language.code)
        return DrawnDate(pair, style, bool(tag), tuple(left_out))


def dates_corpus(data: Data, seed: int) -> Corpora:
    """The corpus of a recipe, according to `data.languages` and `data.examples`."""
    grammar = grammar_of(tuple(data.languages))
    return three_splits(lambda split, size: DateExamples(grammar, seed, split, size), data.examples)


@cache
def grammar_of(codes: tuple[str, ...]) -> Grammar:
    """The styles of these languages; a bare code such as `en` means all its regions, and no code all languages."""
    chosen: dict[str, Language] = {}
    for code in codes or LANGUAGES:
        found = {name: language for name, language in LANGUAGES.items() if name == code or name.startswith(code + "-")}
        if not found:
            known = one_of(LANGUAGES, code, most=len(LANGUAGES))
            raise DataError(f"data.languages: {code!r} is not a language of the built-in dates; known are {known}")
        chosen |= found
    return Grammar(list(chosen.values()))


@cache
def _days(split: Split) -> tuple[tuple[int, int, int, int], ...]:
    """The calendar dates of a split: year, month, day and weekday."""
    dates = map(date.fromordinal, range(date(FIRST_YEAR, 1, 1).toordinal(), date(LAST_YEAR, 12, 31).toordinal() + 1))
    return tuple(
        (day.year, day.month, day.day, day.weekday()) for day in dates if split_of(f"date {day.isoformat()}") == split
    )
