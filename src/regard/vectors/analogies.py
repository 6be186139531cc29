"""Evaluation by analogies: given three words, find the fourth (Mikolov et al. 2013)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.disk import each_line
from regard.errors import DataError, UsageError, counted, one_of
from regard.vectors.folding import Folded
from regard.vectors.similarity import EPSILON, METHODS

LARGEST = 1 << 25
"""Most cosines in memory at a time: 128 MiB."""

Question = tuple[str, str, str, str]


@dataclass(frozen=True)
class Answers:
    """Counts of correct answers, questions asked, and questions with unknown words."""

    right: int = 0
    asked: int = 0
    unknown: int = 0
    """Questions with a word that has no vector; not counted as asked."""

    @property
    def share(self) -> float | None:
        """Share of correct answers; None if nothing could be asked."""
        return self.right / self.asked if self.asked else None

    def __add__(self, other: "Answers") -> "Answers":
        return Answers(self.right + other.right, self.asked + other.asked, self.unknown + other.unknown)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"share": self.share, "right": self.right, "asked": self.asked, "unknown": self.unknown}


@dataclass(frozen=True)
class AnalogyScore:
    """The answers to a file of analogies."""

    file: str
    categories: dict[str, Answers]
    conditions: str
    """Method, case, and candidate words."""

    @property
    def semantic(self) -> Answers:
        """All categories about the meaning of words."""
        return sum((found for name, found in self.categories.items() if not is_syntactic(name)), Answers())

    @property
    def syntactic(self) -> Answers:
        """All categories about forms of words."""
        return sum((found for name, found in self.categories.items() if is_syntactic(name)), Answers())

    @property
    def total(self) -> Answers:
        return self.semantic + self.syntactic

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        totals = {"semantic": self.semantic, "syntactic": self.syntactic, "total": self.total}
        return {
            "kind": "analogies",
            "file": self.file,
            "conditions": self.conditions,
            **{name: found.plain() for name, found in totals.items()},
            "categories": {name: found.plain() for name, found in self.categories.items()},
        }


def is_syntactic(category: str) -> bool:
    """Whether a category is about forms of words: `gram1-…` in the file of Mikolov et al."""
    return category.startswith("gram")


def read_analogies(path: Path) -> dict[str, list[Question]]:
    """Questions by category; a category begins with a line `: name`."""
    found: dict[str, list[Question]] = {}
    questions: list[Question] | None = None
    for number, line in enumerate(each_line(path), start=1):
        fields = line.split()
        if line.startswith(":"):
            questions = found.setdefault(line[1:].strip(), [])
        elif not fields:
            continue
        elif questions is None:
            raise DataError(f"{path}:{number}: a question before the first category; begin with a line `: name`")
        elif len(fields) != 4:
            raise DataError(f"{path}:{number}: {counted(len(fields), 'word')} instead of 4; a line is one analogy")
        else:
            questions.append((fields[0], fields[1], fields[2], fields[3]))
    return found


def answer_analogies(words: Folded, path: Path, *, method: str = "additive") -> AnalogyScore:
    """Answers every question of a file; the three given words are excluded as answers."""
    if method not in METHODS:
        raise UsageError(f"method = {method!r}: choose {one_of(METHODS, method)}")
    categories = {name: _answers(words, asked, method) for name, asked in read_analogies(path).items()}
    case = "exact case" if words.exact else "lower case"
    among = f"the {words.frequent:,} most frequent words" if words.frequent else "all words"
    return AnalogyScore(path.name, categories, f"{method}, {case}, {among}, given words left out")


def _answers(words: Folded, questions: Sequence[Question], method: str) -> Answers:
    known = [places for places in map(words.places, questions) if places is not None]
    right = sum(_right(words, part, method) for part in _parts(known, LARGEST // max(1, len(words.unit))))
    return Answers(right, len(known), len(questions) - len(known))


def _parts(questions: Sequence[tuple[int, ...]], most: int) -> Iterator[list[tuple[int, ...]]]:
    """Splits questions into batches with at most `most` distinct given words."""
    part: list[tuple[int, ...]] = []
    given: set[int] = set()
    for question in questions:
        if part and len(given | set(question[:3])) > most:
            yield part
            part, given = [], set()
        part.append(question)
        given.update(question[:3])
    if part:
        yield part


def _right(words: Folded, questions: Sequence[tuple[int, ...]], method: str) -> int:
    given = sorted({place for question in questions for place in question[:3]})
    row = {place: number for number, place in enumerate(given)}
    # The cosines of every word with each given one; a question combines three of these rows.
    cosines = words.unit[given] @ words.unit.T
    if method == "multiplicative":
        cosines += 1
        cosines /= 2
    right = 0
    for first, second, third, wanted in questions:
        a, b, c = cosines[row[first]], cosines[row[second]], cosines[row[third]]
        scores = b + c - a if method == "additive" else b * c / (a + np.float32(EPSILON))
        scores[[first, second, third]] = -np.inf
        right += int(np.argmax(scores)) == wanted
    return right
