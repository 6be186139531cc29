"""Numbers as people write them; Babel formats dates in Western digits only."""

from collections.abc import Callable

Numerals = Callable[[int, int], str]
"""Writes a number with at least the given number of digits."""


def decimal(digits: str) -> Numerals:
    """Positional numerals with these ten digits."""
    table = str.maketrans("0123456789", digits)
    return lambda value, width: f"{value:0{width}d}".translate(table)


HAN_DIGITS = "〇一二三四五六七八九"


def han(value: int, width: int) -> str:
    """Chinese numerals: years digit by digit (二〇二一), months and days in words (二十一)."""
    if width == 4:
        return "".join(HAN_DIGITS[int(digit)] for digit in f"{value:04d}")
    tens, units = divmod(value, 10)
    return ("" if tens < 2 else HAN_DIGITS[tens]) + ("十" if tens else "") + (HAN_DIGITS[units] if units else "")


NUMERALS: dict[str, Numerals] = {
    "western": decimal("0123456789"),
    "arabic": decimal("٠١٢٣٤٥٦٧٨٩"),
    "persian": decimal("۰۱۲۳۴۵۶۷۸۹"),
    "devanagari": decimal("०१२३४५६७८९"),
    "bengali": decimal("০১২৩৪৫৬৭৮৯"),
    "thai": decimal("๐๑๒๓๔๕๖๗๘๙"),
    "wide": decimal("０１２３４５６７８９"),
    "han": han,
}

ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def english(day: int) -> str:
    suffix = "th" if day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def swedish(day: int) -> str:
    return f"{day}:a" if day in (1, 2, 21, 22, 31) else f"{day}:e"


def first(text: str) -> Callable[[int], str]:
    """For the many languages where only the first day of a month is an ordinal."""
    return lambda day: text if day == 1 else str(day)
