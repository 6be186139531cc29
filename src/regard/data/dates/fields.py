"""A field of a written date: the text of each year, month, day or weekday it can express."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

FieldName = Literal["year", "month", "day", "weekday"]

FIRST_YEAR, LAST_YEAR = 1900, 2099
CENTURY_FROM = 1969
"""Two digits mean a year of 1969–2068, as POSIX reads them; other years are not written with two digits."""

RANGES: dict[FieldName, range] = {
    "year": range(FIRST_YEAR, LAST_YEAR + 1),
    "month": range(1, 13),
    "day": range(1, 32),
    "weekday": range(7),
}

_NUMBERS = re.compile(r"[\d〇一二三四五六七八九十]+")


def shape(text: str) -> str:
    """The text with every run of digits, of any script, as one mark: texts of different shapes are different."""
    return _NUMBERS.sub("#", text)


@dataclass(frozen=True)
class Field:
    """The texts of all values in order; None where a value cannot be expressed."""

    name: FieldName
    texts: tuple[str | None, ...]

    @cached_property
    def first(self) -> int:
        return RANGES[self.name].start

    @cached_property
    def values(self) -> dict[str, list[int]]:
        """The values each text can mean. Months and days in digits are read with or without a leading zero."""
        found: dict[str, list[int]] = {}
        for value, text in zip(RANGES[self.name], self.texts, strict=True):
            if text is not None:
                for same in _with_and_without_zero(text) if self._counts else (text,):
                    found.setdefault(same, []).append(value)
        return found

    @cached_property
    def pattern(self) -> str:
        """A regular expression with one group that matches the texts, and perhaps a few other runs of digits."""
        if not all(text.isdecimal() for text in self.values):
            return f"({'|'.join(map(re.escape, sorted(self.values, key=len, reverse=True)))})"
        lengths = {len(text) for text in self.values}
        return f"([{''.join(sorted(set().union(*self.values)))}]{{{min(lengths)},{max(lengths)}}})"

    @cached_property
    def shapes(self) -> dict[str, str]:
        """The shapes of the texts, each with a text that has it."""
        return {shape(text): text for text in self.values}

    @cached_property
    def _counts(self) -> bool:
        return self.name in ("month", "day") and all(text is not None and text.isdecimal() for text in self.texts)


def _with_and_without_zero(text: str) -> tuple[str, ...]:
    zero = chr(ord(text[-1]) - int(text[-1]))  # Unicode has the ten digits of every script in order
    if len(text) == 2 and text[0] != zero:
        return (text,)
    return text[-1], zero + text[-1]
