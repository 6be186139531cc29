"""CLDR date patterns (Unicode Technical Standard 35, part 4) taken apart into literal text and fields.

Three additional letters express what CLDR cannot: `o` the day as an ordinal, `R` the month in Roman numerals, `N` the
month in a second table of names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from regard.data.dates.fields import CENTURY_FROM, RANGES, Field, FieldName
from regard.data.dates.form import Form
from regard.data.dates.numerals import ROMAN, Numerals
from regard.errors import DataError

_PIECES = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^'A-Za-z]+")

# Babel resolves the stand-alone names of one locale into data that others share (python-babel/babel issue 1234), so
# that the names for `L` and `c` depend on what was formatted before; `M` and `E` are safe, and as good within a date.
_FORMATTED = str.maketrans("Lc", "ME")


@dataclass(frozen=True)
class Names:
    """The words of one language for months and weekdays, by their CLDR field."""

    tables: Mapping[str, tuple[str, ...]]
    era: str
    ordinal: Callable[[int], str] | None = None


def parse(pattern: str, names: Names, numerals: Numerals) -> Form:
    """The form that a pattern describes, with one language's names and numerals."""
    parts: list[str | Field] = []
    for match in _PIECES.finditer(pattern):
        quoted, letter = match.group(1), match.group(2)
        if quoted is not None:
            part: str | Field = quoted.replace("''", "'") or "'"
        elif letter is None:
            part = match.group()
        elif letter == "G":
            part = names.era
        else:
            part = _field(match.group().translate(_FORMATTED), names, numerals)
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return Form(tuple(parts))


def _field(symbol: str, names: Names, numerals: Numerals) -> Field:
    if symbol in names.tables:
        return Field("weekday" if symbol[0] == "E" else "month", names.tables[symbol])
    match symbol:
        case "y" | "yyyy":
            return _numbers("year", 4, numerals)
        case "yy":
            century = range(CENTURY_FROM, CENTURY_FROM + 100)
            return Field("year", tuple(numerals(year % 100, 2) if year in century else None for year in RANGES["year"]))
        case "M" | "MM":
            return _numbers("month", len(symbol), numerals)
        case "d" | "dd":
            return _numbers("day", len(symbol), numerals)
        case "o" if names.ordinal is not None:
            return Field("day", tuple(map(names.ordinal, RANGES["day"])))
        case "R":
            return Field("month", ROMAN)
    raise DataError(f"dates: the date pattern field {symbol!r} of this Babel version is not known here; use Babel 2.18")


@cache
def _numbers(name: FieldName, width: int, numerals: Numerals) -> Field:
    return Field(name, tuple(numerals(value, width) for value in RANGES[name]))
