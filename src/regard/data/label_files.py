"""Files with a text and its labels on each line: columns with tabs between (TSV), JSON Lines, fastText, bracket trees.

    positive <tab> a lovely film            {"text": "a lovely film", "label": "positive"}
    __label__positive a lovely film         (4 (2 a) (4 (4 lovely) (2 film)))

Words are separated by spaces. Blank lines are skipped, and end conversations if there are any.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.data.bracket_trees import phrases_of
from regard.data.columns import column_of
from regard.data.examples import Split
from regard.data.labelled import LabelledCorpora, LabelledPart, LabelledText
from regard.data.overlap import find_overlap
from regard.data.report import Finding
from regard.data.tagged import Problems
from regard.disk import Lines, decoded, to_utf8
from regard.errors import DataError, EncodingError, counted
from regard.recipe import ClassifyingData
from regard.recipe.classifying import LabelFormat

PREFIX = "__label__"
"""Prefix of labels in fastText files."""
ENDINGS: dict[str, LabelFormat] = {".tsv": "tsv", ".jsonl": "jsonl", ".ft": "fasttext", ".fasttext": "fasttext"}
BEGINNINGS: dict[str, LabelFormat] = {PREFIX: "fasttext", "(": "trees", "{": "jsonl"}


@dataclass
class LineError(Exception):
    """A malformed line: the kind of finding, and details."""

    kind: str
    detail: str = ""


Read = tuple[str, list[str]]
"""A text and its labels."""


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers."""
    for number, raw in enumerate(Lines(path), start=1):
        line, problem = decoded(raw, path, number)
        if problem:
            raise EncodingError(problem, to_utf8(path))
        if line.strip():
            yield number, line


def format_of(path: Path) -> LabelFormat:
    """The format of a file, by its name or else by its first line."""
    name = path.name.removesuffix(".gz")
    if known := next((format for ending, format in ENDINGS.items() if name.endswith(ending)), None):
        return known
    _, first = next(lines_of(path), (0, ""))
    if known := next((format for begun, format in BEGINNINGS.items() if first.lstrip().startswith(begun)), None):
        return known
    if first and "\t" not in first:
        raise DataError(
            f"{path}: neither the name nor the first line tells the format; set data.format to 'tsv', 'jsonl', "
            "'fasttext' or 'trees'"
        )
    return "tsv"


class LabelFiles:
    """One part of a corpus of files."""

    def __init__(self, data: ClassifyingData, split: Split) -> None:
        self.data, self.split = data, split
        self.problems = Problems(split)
        self.conversation = 0
        self.names = {trees: data.new_names(trees) for trees in (False, True)}
        self.files = [Path(path) for path in getattr(data, split)]
        self.texts = [text for path in self.files for text in self._read(path)]
        if not self.texts and not self.problems.counts:
            raise DataError(
                f"there is no text in {', '.join(map(str, self.files))}; name a file with a text and its label on each "
                "line"
            )

    def _read(self, path: Path) -> Iterator[LabelledText]:
        data = self.data
        chosen = format_of(path) if data.format == "auto" else data.format
        read = {"tsv": self._columns, "jsonl": self._json, "fasttext": _fasttext, "trees": self._tree}[chosen]
        trees, seen = chosen == "trees", set[LabelledText]()
        lines = lines_of(path)
        if chosen == "tsv" and data.header:
            next(lines, None)
        before = -1
        for number, line in lines:
            place = f"{path}:{number}"
            self.conversation += data.conversations and number > before + 1  # a blank line was skipped
            before = number
            try:
                for text, labels in read(line):
                    found = self._taken(text, labels, trees, place, self._speaker(line, chosen))
                    if found is None or found in seen:
                        continue
                    if trees and self._phrases:  # the same phrase occurs in many trees
                        seen.add(found)
                    yield found
            except LineError as problem:
                self.problems.note(problem.kind, place + (f" ({problem.detail})" if problem.detail else ""))

    def _speaker(self, line: str, chosen: LabelFormat) -> str:
        if not self.data.speaker_column:
            return ""
        if chosen != "tsv":
            raise LineError("missing", "no column of a speaker, since this is not TSV")
        speaker = column_of(line.split("\t"), self.data.speaker_column).strip()
        if not speaker:
            raise LineError("missing", "no speaker")
        return speaker

    def _taken(self, text: str, given: list[str], trees: bool, place: str, speaker: str) -> LabelledText | None:
        names = self.names[trees]
        labels = tuple(dict.fromkeys(names.get(label, label) for label in given))
        if "" in labels:
            self.problems.note("rename_in_trees" if trees else "rename", place)
            return None
        if not self.data.multiple and len(labels) != 1:
            raise LineError("labels", counted(len(labels), "label"))
        words = tuple(text.split())
        if not words:
            self.problems.note("empty", place)
        return LabelledText(words, labels, place, self.conversation, speaker)

    @property
    def _phrases(self) -> bool:
        return self.data.phrases and self.split == "train"

    def _columns(self, line: str) -> list[Read]:
        row = line.split("\t")
        text, label = (
            column - 1 if column > 0 else len(row) + column
            for column in (self.data.text_column, self.data.label_column)
        )
        if text == label or not all(0 <= place < len(row) for place in (text, label)):
            raise LineError("missing", counted(len(row), "column"))
        return [(row[text], self._split(row[label]))]

    def _split(self, cell: str) -> list[str]:
        parts = cell.split(self.data.separator) if self.data.multiple else [cell]
        return [part.strip() for part in parts if part.strip()]

    def _json(self, line: str) -> list[Read]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise LineError("json") from None
        if not isinstance(record, dict):
            raise LineError("json")
        for name in (self.data.text_field, self.data.label_field):
            if record.get(name) is None:
                raise LineError("missing", f"no field {name!r}")
        text, labels = record[self.data.text_field], record[self.data.label_field]
        labels = labels if isinstance(labels, list) else [labels]
        if not isinstance(text, str) or any(isinstance(each, (dict, list)) or each in ("", None) for each in labels):
            raise LineError("missing", "the text is not text, or a label is neither text nor a number")
        return [(text, [each if isinstance(each, str) else json.dumps(each) for each in labels])]

    def _tree(self, line: str) -> list[Read]:
        try:
            phrases = phrases_of(line)
        except ValueError as error:
            raise LineError("tree", str(error)) from None
        return [(" ".join(each.words), [each.label]) for each in (phrases if self._phrases else phrases[:1])]

    def _swapped(self, columns: str) -> Iterator[Finding]:
        """A finding if the training text looks as if texts were labels and labels were texts."""
        labels = {label for text in self.texts for label in text.labels}
        single = sum(len(text.words) <= 1 for text in self.texts)
        if self.split == "train" and 2 * single > len(self.texts) and len(labels) > max(20, len(self.texts) / 10):
            what = (
                f"most texts have one word and there are {len(labels):,} different labels, so that the columns of text "
                f"and label may be swapped; {columns}"
            )
            yield Finding("swapped", self.split, 0, what, "kept")

    def part(self, known: set[str] | None) -> LabelledPart:
        """The texts and what was found; `known` are the labels of the training text, if it was read."""
        data, problems = self.data, self.problems
        for text in self.texts:
            for label in text.labels:
                if known is not None and label not in known:
                    problems.note("unseen", f"{text.place} ({label})")
        columns = (
            f"see data.text_column = {data.text_column}, data.label_column = {data.label_column}"
            f"{f', data.speaker_column = {data.speaker_column}' if data.speaker_column else ''} for TSV, "
            f"data.text_field = {data.text_field!r}, data.label_field = {data.label_field!r} for JSON Lines"
        )
        left_out = "texts with labels that are left out"
        findings = [
            *problems.finding("missing", "lines without a text or a label", "refused", advice=columns),
            *problems.finding("json", "lines without a JSON object", "refused", advice="write each on one line"),
            *problems.finding(
                "tree", "trees whose brackets are broken", "refused", advice="mend them, or leave them out"
            ),
            *problems.finding(
                "labels",
                "texts without exactly one label",
                "refused",
                advice="give each one, or set data.multiple = true for any number",
            ),
            *problems.finding("empty", "texts without a word", "kept"),
            *problems.finding("rename", left_out, "dropped", "data.rename"),
            *problems.finding("rename_in_trees", left_out, "dropped", "data.rename_in_trees"),
            *problems.finding("unseen", "labels never seen in training, counted as wrong", "kept"),
            *self._swapped(columns),
        ]
        words, files = sum(len(text.words) for text in self.texts), ", ".join(map(str, self.files))
        conversations = f"{counted(self.conversation, 'conversation')}, " if data.conversations else ""
        holds = f"{counted(len(self.texts), 'text')} in {files}, {conversations}{counted(words, 'word')}"
        return LabelledPart(tuple(self.texts), holds, tuple(findings))


def _fasttext(line: str) -> list[Read]:
    words = line.split()
    labels = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
    return [(" ".join(word for word in words if not word.startswith(PREFIX)), [label for label in labels if label])]


def from_files(data: ClassifyingData, seed: int, splits: Iterable[Split]) -> LabelledCorpora:
    """The parts named in the settings; an unreadable file is a finding."""
    read: dict[Split, LabelFiles] = {}
    parts: dict[Split, LabelledPart] = {}
    for split in splits:
        if getattr(data, split):
            try:
                read[split] = LabelFiles(data, split)
            except DataError as error:
                parts[split] = LabelledPart((), "", (Finding("unreadable", split, 0, str(error), "refused"),))
    # Without training text, as when a model is evaluated, nothing is unseen.
    known = {label for text in read["train"].texts for label in text.labels} if "train" in read else None
    parts |= {split: files.part(known) for split, files in read.items()}
    notes = () if known is None else (counted(len(known), "different label"),)
    overlap = find_overlap(
        {split: ((" ".join(text.words), text.place) for text in files.texts) for split, files in read.items()}, "texts"
    )
    order: tuple[Split, ...] = ("train", "dev", "test")
    return LabelledCorpora({split: parts[split] for split in order if split in parts}, notes, tuple(overlap))
