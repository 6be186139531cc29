"""Files of columns, as the shared tasks of CoNLL have them: a word a line, a blank line between sentences.

    EU        NNP   I-ORG
    rejects   VBZ   O

Columns are separated by tabs, or in lines without a tab by blanks. A line with -DOCSTART- begins a document and is no
word. In CoNLL-U files (Universal Dependencies), lines of word ranges (1-2) and of empty nodes (8.1) are not either.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regard.data.examples import Split
from regard.data.report import Finding, outcome_of
from regard.data.tagged import Problems, TaggedCorpora, TaggedPart, TaggedSentence
from regard.disk import Lines, decoded, to_utf8
from regard.errors import DataError, EncodingError, counted
from regard.recipe import TaggingData
from regard.recipe.tagging import CONLLU_COLUMNS
from regard.tokens.tag_schemes import Scheme, breaks, converted, detect

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
    """What stands in a column, by number or by name; empty if there is none."""
    place = _place_of(row, column)
    return row[place] if 0 <= place < len(row) else ""


def _place_of(row: list[str], column: int | str) -> int:
    if isinstance(column, str):
        return CONLLU_COLUMNS.index(column)
    return column - 1 if column > 0 else len(row) + column


@dataclass(frozen=True)
class WordLine:
    """A line of columns that is to be tagged."""

    text: str
    row: list[str]
    word: str
    """Empty if it is none."""

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    def tagged(self, tag: str, data: TaggingData) -> str:
        """The line with a tag: in its own column of CoNLL-U, or else in one more."""
        if not data.is_conllu:
            return f"{self.text.rstrip()}{TAB if TAB in self.text else ' '}{tag}"
        row = [*self.row, *[""] * (len(CONLLU_COLUMNS) - len(self.row))]
        row[_place_of(row, data.tag_column)] = tag
        return TAB.join(row)


def word_lines(data: TaggingData, lines: Sequence[tuple[str, str]]) -> Iterator[WordLine]:
    """Lines, each with where it stands, as words to be tagged."""
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


class ColumnFiles:
    """One part of a corpus of files."""

    def __init__(self, data: TaggingData, split: Split) -> None:
        self.data, self.split = data, split
        self.problems = Problems(split)
        self.documents = 0
        self.files = [Path(path) for path in getattr(data, split)]
        self.sentences = [sentence for path in self.files for sentence in self._read(path)]
        if not self.sentences and not self.problems.counts:
            raise DataError(f"there is no sentence in {', '.join(map(str, self.files))}; name a file of columns")

    def _read(self, path: Path) -> Iterator[TaggedSentence]:
        columns = 0
        for block in blocks(path, self.data.comment_mark):
            taken: list[tuple[str, str, int]] = []
            for place, row in enumerate(block.rows):
                if not is_word(row, self.data):
                    self.documents += DOCUMENT in row
                    continue
                columns = columns or len(row)
                word, tag = column_of(row, self.data.word_column), column_of(row, self.data.tag_column)
                if len(row) != columns:
                    self.problems.note(
                        "columns", f"{block.place(place)} ({counted(len(row), 'column')}, not {columns})"
                    )
                elif word and tag:
                    taken.append((word, tag, place))
                else:
                    self.problems.note("missing", block.place(place))
            if taken:
                words, tags, places = zip(*taken, strict=True)
                yield TaggedSentence(words, tags, partial(_place, block, places))

    def part(self, scheme: Scheme, known: set[str] | None) -> TaggedPart:
        """The sentences, with tags that follow the scheme; `known` are the tags of the training text, if it was
        read."""
        data, problems = self.data, self.problems
        kept: list[TaggedSentence] = []
        for sentence in self.sentences:
            for place in breaks(scheme, sentence.tags):
                problems.note("scheme", f"{sentence.places(place)} ({sentence.tags[place]})")
            tags = tuple(converted(sentence.tags, scheme)) if data.broken == "replace" else sentence.tags
            for place, tag in enumerate(tags):
                if known is not None and tag not in known:
                    problems.note("unseen", f"{sentence.places(place)} ({tag})")
            kept.append(TaggedSentence(sentence.words, tags, sentence.places))
        where = f"data.word_column = {data.word_column!r}, data.tag_column = {data.tag_column!r}"
        comments = "" if data.is_conllu or data.comments else '; if they are comments, set data.comments = "#"'
        findings = [
            *problems.finding(
                "columns",
                "lines with another number of columns than the first",
                "refused",
                advice=f"give every line the same columns{comments}",
            ),
            *problems.finding("missing", "lines without a word or a tag", "refused", advice=f"see {where}{comments}"),
            *problems.finding(
                "scheme",
                f"tags that break the scheme {scheme}",
                outcome_of(data.broken),
                "data.broken",
                advice="mend them, name another data.scheme, or set data.broken = 'replace'",
            ),
            *problems.finding(
                "unseen", "tags never seen in training, which count as wrong wherever they stand", "kept"
            ),
        ]
        return TaggedPart(tuple(kept), self._holds(), tuple(findings))

    def _holds(self) -> str:
        words = sum(len(sentence.words) for sentence in self.sentences)
        documents = f", {counted(self.documents, 'document')}" if self.documents else ""
        files = ", ".join(map(str, self.files))
        return f"{counted(len(self.sentences), 'sentence')} in {files}{documents}, {counted(words, 'word')}"


def _place(block: Block, places: tuple[int, ...], word: int) -> str:
    return block.place(places[word])


def from_files(data: TaggingData, seed: int, splits: Iterable[Split]) -> TaggedCorpora:
    """The parts that the settings name; a file that cannot be read is a finding."""
    read: dict[Split, ColumnFiles] = {}
    parts: dict[Split, TaggedPart] = {}
    for split in splits:
        if getattr(data, split):
            try:
                read[split] = ColumnFiles(data, split)
            except DataError as error:
                parts[split] = TaggedPart((), "", (Finding("unreadable", split, 0, str(error), "refused"),))
    # Without training text, as when a model is evaluated, nothing is unseen.
    reference = (
        read["train"].sentences if "train" in read else [each for one in read.values() for each in one.sentences]
    )
    scheme: Scheme = detect(sentence.tags for sentence in reference) if data.scheme == "auto" else data.scheme
    known = {
        tag for each in reference for tag in (converted(each.tags, scheme) if data.broken == "replace" else each.tags)
    }
    parts |= {split: files.part(scheme, known if "train" in read else None) for split, files in read.items()}
    order: tuple[Split, ...] = ("train", "dev", "test")
    return TaggedCorpora(
        {split: parts[split] for split in order if split in parts}, scheme, _notes(scheme, data, known)
    )


def _notes(scheme: Scheme, data: TaggingData, known: set[str]) -> tuple[str, ...]:
    if scheme == "none":
        how = "tags are of single words"
    else:
        how = f"tags mark spans in the scheme {scheme}{' (detected)' if data.scheme == 'auto' else ''}"
    return (f"{how}; there are {counted(len(known), 'different tag')}",)
