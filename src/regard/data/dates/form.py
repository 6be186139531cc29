"""A way of writing dates: text to date and date to text."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from regard.data.dates.fields import Field, shape

Day = tuple[int, int, int]
"""Year, month and day."""
Span = tuple[int, int]

_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def exists(year: int, month: int, day: int) -> bool:
    """Whether the Gregorian calendar has this date."""
    if month == 2 and day == 29:
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _DAYS[month - 1]


@dataclass(frozen=True)
class Written:
    """A date as text, and where its year, month and day are."""

    text: str
    year: Span
    month: Span
    day: Span


@dataclass(frozen=True)
class Form:
    """Literal text and fields in turn."""

    parts: tuple[str | Field, ...]

    def write(self, year: int, month: int, day: int, weekday: int) -> Written | None:
        """The text of a date, None if this form cannot express it (a year outside the century of two-digit years)."""
        values = {"year": year, "month": month, "day": day, "weekday": weekday}
        spans: dict[str, Span] = {}
        text = ""
        for part in self.parts:
            if isinstance(part, str):
                text += part
                continue
            said = part.texts[values[part.name] - part.first]
            if said is None:
                return None
            spans[part.name] = (len(text), len(text) + len(said))
            text += said
        return Written(text, spans["year"], spans["month"], spans["day"])

    def read(self, text: str) -> list[Day]:
        """Every date this text can mean in this form. The weekday is ignored, as human readers do."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return []
        meant: dict[str, list[int]] = {}
        for field, said in zip(self._fields, match.groups(), strict=True):
            if said not in field.values:
                return []
            meant[field.name] = field.values[said]
        return [date for date in product(meant["year"], meant["month"], meant["day"]) if exists(*date)]

    def shapes(self) -> set[str]:
        """The shape of every text that this form writes."""
        kinds = [{part: part} if isinstance(part, str) else part.shapes for part in self.parts]
        return {shape("".join(texts)) for texts in product(*(kind.values() for kind in kinds))}

    @cached_property
    def _fields(self) -> list[Field]:
        return [part for part in self.parts if isinstance(part, Field)]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("".join(re.escape(part) if isinstance(part, str) else part.pattern for part in self.parts))
