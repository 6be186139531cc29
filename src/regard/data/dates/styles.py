"""Every way of writing a date in one language: CLDR's patterns and names by way of Babel, and what people add."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from babel import Locale

from regard.data.dates.form import Form
from regard.data.dates.languages import Language
from regard.data.dates.numerals import NUMERALS
from regard.data.dates.pattern import Names, parse

_FORMATS = ("full", "long", "medium", "short")
_SKELETONS = ("yMMMMEEEEd", "yMMMEd", "yMMMMd", "yMMMd", "yMEd", "yMd")

# People do not type narrow or non-breaking spaces, nor marks for line breaking and text direction.
_TYPED = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u200e": None, "\u200f": None, "\u061c": None})


@dataclass(frozen=True)
class Style:
    """One language's pattern in one kind of numerals."""

    language: Language
    pattern: str
    numerals: str
    form: Form


@cache
def styles_of(language: Language) -> tuple[Style, ...]:
    """The styles of a language, no two of them alike."""
    locale = Locale.parse(language.locale)
    names = _names(locale, language)
    found: dict[Form, Style] = {}
    for pattern in _patterns(locale, language):
        for numerals in ("western", *language.numerals):
            if numerals == "han" and ("年" not in pattern or "MM" in pattern):
                continue  # Chinese numerals go with 年, 月 and 日, and are never padded
            form = parse(pattern, names, NUMERALS[numerals])
            found.setdefault(form, Style(language, pattern, numerals, form))
    return tuple(found.values())


def _patterns(locale: Locale, language: Language) -> list[str]:
    """The patterns of CLDR and of people, without those of CLDR that people do not use."""
    patterns = [locale.date_formats[name].pattern for name in _FORMATS]
    patterns += [locale.datetime_skeletons[name].pattern for name in _SKELETONS if name in locale.datetime_skeletons]
    unwanted = language.without.split(" | ")
    typed = [pattern for pattern in map(_typed, patterns) if pattern not in unwanted]
    return typed + language.patterns.split(" | ")


def _names(locale: Locale, language: Language) -> Names:
    def table(names: Mapping[int, str], numbers: range) -> tuple[str, ...]:
        return tuple(_typed(names[number]) for number in numbers)

    months, days = locale.months["format"], locale.days["format"]
    abbreviated_days = table(days["abbreviated"], range(7))
    tables = {
        "MMMM": table(months["wide"], range(1, 13)),
        "MMM": table(months["abbreviated"], range(1, 13)),
        "EEEE": table(days["wide"], range(7)),
        "EEE": abbreviated_days,
        "E": abbreviated_days,
    }
    if language.months:
        tables["N"] = tuple(language.months.split())
    return Names(tables, _typed(locale.eras["abbreviated"][1]), language.ordinal)


def _typed(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(_TYPED))
