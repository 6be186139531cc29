"""A glossary: these words of the source become these words of the output."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.disk import each_line
from regard.errors import DataError, counted
from regard.tokens.segmentation import Span, parts_of, smallest_parts_of

Parts = tuple[str, ...]
"""The units of a term: words, characters of scripts without blanks, and signs. A term matches a sequence of whole
units, so never inside a longer word; but in text without blanks, word boundaries are unknown."""


@dataclass(frozen=True)
class GlossaryEntry:
    """A term and what it becomes."""

    source: str
    target: str


@dataclass(frozen=True)
class FoundTerm(GlossaryEntry):
    """A term at its place in a text."""

    span: Span


class Glossary:
    """Terms by their source. Of several that begin at one place, the longest matches; matches do not overlap.

    With `ignore_case`, matching in the source ignores case; the output has the term as written here.
    """

    def __init__(self, entries: Iterable[GlossaryEntry], *, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self._terms = {self._parts(entry.source): entry for entry in entries}
        self._longest = max(map(len, self._terms), default=0)

    @classmethod
    def read(cls, path: Path, *, ignore_case: bool = False) -> Self:
        """The glossary in a file of tab-separated values: source term, target term. Empty lines are skipped."""
        glossary = cls([], ignore_case=ignore_case)
        lines: dict[Parts, int] = {}
        for number, entry in _entries(path):
            parts = glossary._parts(entry.source)
            before = glossary._terms.setdefault(parts, entry)
            if before.target != entry.target:
                raise DataError(
                    f"{path}:{number}: {entry.source!r} is to become {entry.target!r}, but line {lines[parts]} has "
                    f"{before.target!r}; decide for one of them"
                )
            lines.setdefault(parts, number)
        glossary._longest = max(map(len, lines), default=0)
        return glossary

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def entries(self) -> list[GlossaryEntry]:
        return list(self._terms.values())

    def find(self, text: str) -> list[FoundTerm]:
        """The terms of a text, in order, each as often as it occurs."""
        spans, words = smallest_parts_of(text), parts_of(text)
        starts, ends = {start for start, _ in words}, {end for _, end in words}
        parts = self._parts(text)
        found: list[FoundTerm] = []
        place = 0
        while place < len(parts):
            lengths = range(min(self._longest, len(parts) - place), 0, -1) if spans[place][0] in starts else ()
            term = next(
                (
                    parts[place : place + length]
                    for length in lengths
                    if spans[place + length - 1][1] in ends and parts[place : place + length] in self._terms
                ),
                (),
            )
            if term:
                entry, span = self._terms[term], (spans[place][0], spans[place + len(term) - 1][1])
                found.append(FoundTerm(entry.source, entry.target, span))
            place += len(term) or 1
        return found

    def _folded(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text

    def _parts(self, text: str) -> Parts:
        return tuple(self._folded(text[start:end]) for start, end in smallest_parts_of(text))


class GlossaryUse:
    """A glossary that counts which of its terms it finds."""

    def __init__(self, glossary: Glossary) -> None:
        self._glossary = glossary
        self._in_any_case = Glossary(glossary.entries, ignore_case=True)
        self._lines = self._with_terms = 0
        self._found: Counter[str] = Counter()
        self._other_case: Counter[str] = Counter()

    def find(self, text: str) -> list[FoundTerm]:
        """The terms of a text."""
        found = self._glossary.find(text)
        terms = Counter(entry.source for entry in found)
        self._lines, self._with_terms = self._lines + 1, self._with_terms + bool(found)
        self._found += terms
        if not self._glossary.ignore_case:
            self._other_case += Counter(entry.source for entry in self._in_any_case.find(text)) - terms
        return found

    def line(self) -> str:
        """A one-line summary of the terms found."""
        lines = counted(self._lines, "line")
        said = (
            f"{counted(self._found.total(), 'term')} found in {self._with_terms:,} of {lines}, "
            f"{len(self._found):,} of {len(self._glossary):,} different ones"
            if self._found
            else f"none of its {counted(len(self._glossary), 'term')} found in {lines}"
        )
        if self._other_case:
            example = self._other_case.most_common(1)[0][0]
            said += f"; {self._other_case.total():,} more in other case, such as {example!r}: --ignore-case finds them"
        return f"glossary: {said}"


def _entries(path: Path) -> Iterator[tuple[int, GlossaryEntry]]:
    """Each entry of a file, with its line number."""
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
            if not smallest_parts_of(term):
                raise DataError(f"{path}:{number}: there is no {side} term; write one, or remove the line")
        yield number, GlossaryEntry(*columns)
