"""Column files in the style of the CoNLL shared tasks: one word per line, a blank line between sentences.

    EU        NNP   I-ORG
    rejects   VBZ   O

Columns are separated by tabs, or by spaces in lines without a tab. A line with -DOCSTART- begins a document and is not
a word. Neither are, in CoNLL-U files (Universal Dependencies), word ranges (1-2) and empty nodes (8.1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.disk import Lines, decoded, to_utf8
from regard.errors import DataError, EncodingError, counted
from regard.recipe import TaggingData
from regard.recipe.tagging import CONLLU_COLUMNS

DOCUMENT = "-DOCSTART-"
TAB = "\t"
_BLANKS = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Block:
    """The lines of a sentence, split into columns, each with its number."""

    path: Path
    rows: list[list[str]]
    numbers: list[int]

    def place(self, row: int) -> str:
        return f"{self.path}:{self.numbers[row]}"


def blocks(path: Path, comments: str = "") -> Iterator[Block]:
    """The sentences of a file. Lines that begin with `comments` are left out."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, raw in enumerate(Lines(path), start=1):
        line, problem = decoded(raw, path, number)
        if problem:
            raise EncodingError(problem, to_utf8(path))
        if not line.strip():
            if rows:
                yield Block(path, rows, numbers)
            rows, numbers = [], []
        elif not (comments and line.startswith(comments)):
            rows.append(split_columns(line))
            numbers.append(number)
    if rows:
        yield Block(path, rows, numbers)


def split_columns(line: str) -> list[str]:
    """The columns of a line."""
    return [column.strip() for column in line.split(TAB)] if TAB in line.strip() else _BLANKS.split(line.strip(" \t"))


def is_word(row: list[str], data: TaggingData) -> bool:
    """Whether a row of columns is a word: not the beginning of a document nor, in CoNLL-U, a range or an empty node."""
    return DOCUMENT not in row and not (data.is_conllu and re.fullmatch(r"\d+[-.]\d+", row[0]))


def column_of(row: list[str], column: int | str) -> str:
    """The value of a column, by number or by name; empty if there is none."""
    place = place_of(row, column)
    return row[place] if 0 <= place < len(row) else ""


def place_of(row: list[str], column: int | str) -> int:
    """The index of a column in a row, from 0; it may be out of range."""
    if isinstance(column, str):
        return CONLLU_COLUMNS.index(column)
    return column - 1 if column > 0 else len(row) + column


@dataclass(frozen=True)
class WordLine:
    """A line of columns that is to be tagged."""

    text: str
    row: list[str]
    word: str
    """Empty if the line is not a word."""

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    def tagged(self, tag: str, data: TaggingData) -> str:
        """The line with a tag: in the tag column in CoNLL-U, appended as a column in other formats."""
        if not data.is_conllu:
            return f"{self.text.rstrip()}{TAB if TAB in self.text else ' '}{tag}"
        row = [*self.row, *[""] * (len(CONLLU_COLUMNS) - len(self.row))]
        row[place_of(row, data.tag_column)] = tag
        return TAB.join(row)


def word_lines(data: TaggingData, lines: Sequence[tuple[str, str]]) -> Iterator[WordLine]:
    """Lines, each with its place, as words to be tagged."""
    comments = data.comment_mark
    for text, place in lines:
        row = split_columns(text)
        if not text.strip() or (comments and text.startswith(comments)) or not is_word(row, data):
            yield WordLine(text, row, "")
            continue
        word = column_of(row, data.word_column)
        if not word:
            raise DataError(
                f"{place}: there is no word in column {data.word_column!r} (data.word_column) of "
                f"{counted(len(row), 'column')}; give the columns that the training text has"
            )
        yield WordLine(text, row, word)
