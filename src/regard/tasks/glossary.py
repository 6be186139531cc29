"""A glossary: these words of the source become these words of the output."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.disk import each_line
from regard.errors import DataError

_UNITS = re.compile(r"\w+|[^\w\s]")
"""What a term is made of: it is found where all of its units stand side by side, so never inside a longer word."""

Units = tuple[str, ...]


@dataclass(frozen=True)
class GlossaryEntry:
    """A term and what it becomes."""

    source: str
    target: str


class Glossary:
    """Terms by their source. Where several begin at one place, the longest is meant; terms do not overlap.

    With `ignore_case`, upper and lower case are the same in the source; the output has a term as it is written here.
    """

    def __init__(self, entries: Iterable[GlossaryEntry], *, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self._terms = {self._units(entry.source): entry for entry in entries}
        self._longest = max(map(len, self._terms), default=0)

    @classmethod
    def read(cls, path: Path, *, ignore_case: bool = False) -> Self:
        """The glossary in a file of tab-separated values: source term, target term. Empty lines are skipped."""
        glossary = cls([], ignore_case=ignore_case)
        lines: dict[Units, int] = {}
        for number, entry in _entries(path):
            units = glossary._units(entry.source)
            before = glossary._terms.setdefault(units, entry)
            if before.target != entry.target:
                raise DataError(
                    f"{path}:{number}: {entry.source!r} is to become {entry.target!r}, but line {lines[units]} has "
                    f"{before.target!r}; decide for one of them"
                )
            lines.setdefault(units, number)
        glossary._longest = max(map(len, lines), default=0)
        return glossary

    def __len__(self) -> int:
        return len(self._terms)

    def find(self, text: str) -> list[GlossaryEntry]:
        """The terms of a text, in order, each as often as it stands there."""
        units = self._units(text)
        found, place = [], 0
        while place < len(units):
            term = self._longest_at(units, place)
            found += [self._terms[term]] if term else []
            place += len(term) or 1
        return found

    def _longest_at(self, units: Units, place: int) -> Units:
        """The longest term that begins at a place; empty if none does."""
        for length in range(min(self._longest, len(units) - place), 0, -1):
            term = units[place : place + length]
            if term in self._terms:
                return term
        return ()

    def _units(self, text: str) -> Units:
        return tuple(_UNITS.findall(text.casefold() if self.ignore_case else text))


def _entries(path: Path) -> Iterator[tuple[int, GlossaryEntry]]:
    """Each entry of a file, with its line."""
    for number, line in enumerate(each_line(path), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2:
            raise DataError(
                f"{path}:{number}: {len(columns)} column{'s' * (len(columns) > 1)} instead of 2; "
                "a line is a term of the source, one tab character and the term it becomes"
            )
        for side, term in zip(("source", "target"), columns, strict=True):
            if not _UNITS.search(term):
                raise DataError(f"{path}:{number}: there is no {side} term; write one, or remove the line")
        yield number, GlossaryEntry(*columns)
