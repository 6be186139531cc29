"""Files of tagged sentences: in columns (`columns.py`), or with a sentence on each line and perhaps its label.

show flights to Boston <tab> O O O B-city <tab> flight
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from regard.data.columns import DOCUMENT, TAB, Block, blocks, column_of, is_word, place_of
from regard.data.examples import Split
from regard.data.label_files import lines_of
from regard.data.overlap import find_overlap
from regard.data.report import Finding, outcome_of
from regard.data.tagged import Problems, TaggedCorpora, TaggedPart, TaggedSentence
from regard.errors import DataError, counted
from regard.recipe import TaggingData
from regard.tokens.tag_schemes import Scheme, breaks, converted, detect


class TaggedFiles:
    """One part of a corpus of files."""

    def __init__(self, data: TaggingData, split: Split) -> None:
        self.data, self.split = data, split
        self.problems = Problems(split)
        self.documents = 0
        self.files = [Path(path) for path in getattr(data, split)]
        read = self._columns if data.format == "columns" else self._lines
        self.sentences = [sentence for path in self.files for sentence in read(path)]
        if not self.sentences and not self.problems.counts:
            raise DataError(
                f"there is no sentence in {', '.join(map(str, self.files))}; name a file of tagged sentences"
            )

    def _columns(self, path: Path) -> Iterator[TaggedSentence]:
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

    def _lines(self, path: Path) -> Iterator[TaggedSentence]:
        data, columns = self.data, 0
        chosen = [data.word_column, data.tag_column, *([data.label_column] if data.has_labels else [])]
        for number, line in lines_of(path):
            if data.comments and line.startswith(data.comments):
                continue
            row, place = [column.strip() for column in line.split(TAB)], f"{path}:{number}"
            columns = columns or len(row)
            cells = [column_of(row, column) for column in chosen]
            words, tags = (tuple(cell.split()) for cell in cells[:2])
            if len(row) != columns:
                self.problems.note("columns", f"{place} ({counted(len(row), 'column')}, not {columns})")
            elif not all(cells) or len({place_of(row, column) for column in chosen}) < len(chosen):
                self.problems.note("missing", place)
            elif len(words) != len(tags):
                self.problems.note("lengths", f"{place} ({counted(len(words), 'word')}, {counted(len(tags), 'tag')})")
            else:
                yield TaggedSentence(words, tags, partial(_word_of, place), "".join(cells[2:]), place)

    def part(self, scheme: Scheme, known: "Known | None") -> TaggedPart:
        """The sentences, with tags that follow the scheme; `known` is what occurs in the training text, if it was
        read."""
        data, problems = self.data, self.problems
        kept: list[TaggedSentence] = []
        for sentence in self.sentences:
            for place in breaks(scheme, sentence.tags):
                problems.note("scheme", f"{sentence.places(place)} ({sentence.tags[place]})")
            tags = tuple(converted(sentence.tags, scheme)) if data.broken == "replace" else sentence.tags
            for place, tag in enumerate(tags):
                if known is not None and tag not in known.tags:
                    problems.note("unseen", f"{sentence.places(place)} ({tag})")
            if known is not None and sentence.label not in known.labels:
                problems.note("label", f"{sentence.place} ({sentence.label})")
            kept.append(replace(sentence, tags=tags))
        where = f"data.word_column = {data.word_column!r}, data.tag_column = {data.tag_column!r}"
        where += f", data.label_column = {data.label_column}" if data.has_labels else ""
        comments = "" if data.is_conllu or data.comments else '; if they are comments, set data.comments = "#"'
        findings = [
            *problems.finding(
                "columns",
                "lines with another number of columns than the first",
                "refused",
                advice=f"give every line the same columns{comments}",
            ),
            *problems.finding(
                "missing",
                f"lines without a word or a tag{' or a label' if data.has_labels else ''}",
                "refused",
                advice=f"see {where}{comments}",
            ),
            *problems.finding(
                "lengths", "lines with another number of tags than words", "refused", advice="give each word one tag"
            ),
            *problems.finding(
                "scheme",
                f"tags breaking the scheme {scheme}",
                outcome_of(data.broken),
                "data.broken",
                advice="mend them, name another data.scheme, or set data.broken = 'replace'",
            ),
            *problems.finding("unseen", "tags never seen in training, counted as wrong", "kept"),
            *problems.finding("label", "labels never seen in training, counted as wrong", "kept"),
        ]
        return TaggedPart(tuple(kept), self._holds(), tuple(findings))

    def _holds(self) -> str:
        words = sum(len(sentence.words) for sentence in self.sentences)
        documents = f", {counted(self.documents, 'document')}" if self.documents else ""
        files = ", ".join(map(str, self.files))
        return f"{counted(len(self.sentences), 'sentence')} in {files}{documents}, {counted(words, 'word')}"


@dataclass(frozen=True)
class Known:
    """Tags and labels that occur in the training text."""

    tags: set[str]
    labels: set[str]


def _word_of(line: str, word: int) -> str:
    return f"{line}, word {word + 1}"


def _place(block: Block, places: tuple[int, ...], word: int) -> str:
    return block.place(places[word])


def from_files(data: TaggingData, seed: int, splits: Iterable[Split]) -> TaggedCorpora:
    """The parts named in the settings; an unreadable file is a finding."""
    read: dict[Split, TaggedFiles] = {}
    parts: dict[Split, TaggedPart] = {}
    for split in splits:
        if getattr(data, split):
            try:
                read[split] = TaggedFiles(data, split)
            except DataError as error:
                parts[split] = TaggedPart((), "", (Finding("unreadable", split, 0, str(error), "refused"),))
    # Without training text, as when a model is evaluated, nothing is unseen.
    reference = (
        read["train"].sentences if "train" in read else [each for one in read.values() for each in one.sentences]
    )
    scheme: Scheme = detect(sentence.tags for sentence in reference) if data.scheme == "auto" else data.scheme
    rows = ((converted(each.tags, scheme) if data.broken == "replace" else each.tags) for each in reference)
    known = Known({tag for row in rows for tag in row}, {each.label for each in reference})
    parts |= {split: files.part(scheme, known if "train" in read else None) for split, files in read.items()}
    overlap = find_overlap(
        {split: ((" ".join(each.words), each.places(0)) for each in files.sentences) for split, files in read.items()},
        "sentences",
    )
    order: tuple[Split, ...] = ("train", "dev", "test")
    ordered = {split: parts[split] for split in order if split in parts}
    return TaggedCorpora(ordered, scheme, _notes(scheme, data, known), tuple(overlap))


def _notes(scheme: Scheme, data: TaggingData, known: Known) -> tuple[str, ...]:
    if scheme == "none":
        how = "tags are of single words"
    else:
        how = f"tags mark spans in the scheme {scheme}{' (detected)' if data.scheme == 'auto' else ''}"
    labels = f" and {counted(len(known.labels), 'different label')}" if data.has_labels else ""
    return (f"{how}; {counted(len(known.tags), 'different tag')}{labels}",)
