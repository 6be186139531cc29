"""Running text: the lines of a language model's corpus, and findings about them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.built_in_text import DOCUMENTS, built_in_text, origin
from regard.data.corpora import OTHERWISE
from regard.data.examples import Split
from regard.data.overlap import find_overlap
from regard.data.report import Finding, Report, outcome_of
from regard.data.unspaced import find_unspaced
from regard.disk import Lines, decoded, to_utf8
from regard.errors import DataError, EncodingError, counted
from regard.recipe import LanguageData
from regard.recipe.names import TEXT_CORPORA

SPLITS: tuple[Split, ...] = ("train", "dev", "test")

PLACES = 3
"""Maximum number of places in a finding."""

_HEADING = re.compile(r"\s*= (?!= )\S.*(?<! =) =\s*")
"""A heading of the first level in WikiText; those of sections have more signs on each side."""
_CONTROL = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass
class Text:
    """One part of a corpus: lines that can be iterated any number of times, each with whether a document begins there.
    Invalid text is raised with file and line; problems are counted on the way."""

    split: Split
    data: LanguageData
    given: Sequence[str] | None = None
    """Lines in memory, instead of those named in the settings."""
    found: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = [] if self.given is not None else getattr(self.data, self.split)
        self.files = [Lines(Path(path)) for path in named]

    @property
    def is_there(self) -> bool:
        """Whether the recipe has such text."""
        return self.split == "train" or self.data.has(self.split)

    @property
    def origin(self) -> str:
        """The origin of a built-in text; empty for the user's text."""
        return "" if self.given is not None or self.data.corpus not in DOCUMENTS else origin(self.data.corpus)

    def __iter__(self) -> Iterator[str]:
        return (line for line, _ in self.lines())

    def lines(self) -> Iterator[tuple[str, bool]]:
        """Each line, and whether a document begins with it."""
        self.found.clear()
        self.places.clear()
        begins, words = True, 0
        for line, place in self.placed():
            blank = not line or line.isspace()
            if self.data.documents == "headings" and _HEADING.fullmatch(line):
                begins = True
            self._count(line, place, blank)
            if not (blank and self.data.empty == "drop"):
                starts = begins and (not blank or self.data.documents != "blank")
                words += not blank
                self.found["documents"] += starts
                yield line, starts
                begins = begins and not starts
            begins = begins or (blank and self.data.documents == "blank")
        if not words:
            named = ", ".join(str(file.path) for file in self.files) or "what was given"
            raise DataError(f"there is no line of text in {named}; name a file with text")

    def report(self) -> tuple[str, list[Finding]]:
        """A description of its content, and its findings, after one pass over it."""
        for _ in self.lines():
            pass
        found = self.found
        files = f" in {', '.join(str(file.path) for file in self.files)}" if self.files else ""
        documents = f", {counted(found['documents'], 'document')}" if self.data.documents != "none" else ""
        size = f"{counted(found['words'], 'word')}, {counted(found['characters'], 'character')}"
        return f"{counted(found['lines'], 'line')}{files}{documents}, {size}", list(self._findings())

    def placed(self) -> Iterator[tuple[str, str]]:
        """Every line and its place."""
        placed: Iterator[tuple[str, str]] = (
            TEXT_CORPORA[self.data.corpus](self) if self.given is None else self._at_hand()
        )
        return placed

    def _at_hand(self) -> Iterator[tuple[str, str]]:
        for number, line in enumerate(self.given or (), start=1):
            if "\0" in line:
                raise DataError(f"line {number}: a NUL character, so this is not text")
            yield line, f"line {number}"

    def from_python(self) -> Iterator[tuple[str, str]]:
        """Every line of a built-in text, and its place."""
        lines = built_in_text(self.data.corpus, self.split)
        return ((line, f"line {number}") for number, line in enumerate(lines, start=1))

    def from_files(self) -> Iterator[tuple[str, str]]:
        """Every line of the files, and its place."""
        for file in self.files:
            for number, raw in enumerate(file, start=1):
                line, problem = decoded(raw, file.path, number)
                if problem and self.data.invalid == "refuse":
                    raise EncodingError(problem, to_utf8(file.path), OTHERWISE)
                if problem:
                    self._note("invalid", problem)
                if not problem or self.data.invalid == "replace":
                    yield line, f"{file.path}:{number}"

    def _count(self, line: str, place: str, blank: bool) -> None:
        words = line.split()
        self.found["lines"] += 1
        self.found["words"] += len(words)
        self.found["characters"] += len(line)
        self.found["unk"] += words.count("<unk>")
        if blank:
            self._note("empty", place)
        if control := _CONTROL.search(line):
            self._note("control", f"{place} (U+{ord(control[0]):04X})")

    def _note(self, kind: str, place: str) -> None:
        self.found[kind] += 1
        places = self.places.setdefault(kind, [])
        if len(places) < PLACES:
            places.append(place)

    def _findings(self) -> Iterator[Finding]:
        kinds = {
            "invalid": ("lines of invalid UTF-8", outcome_of(self.data.invalid), "data.invalid"),
            "empty": ("lines without text", outcome_of(self.data.empty), "data.empty"),
            "control": ("lines with control characters", outcome_of("keep"), ""),
        }
        for kind, (what, outcome, setting) in kinds.items():
            if self.found[kind]:
                yield Finding(kind, self.split, self.found[kind], what, outcome, setting, tuple(self.places[kind]))
        for file in self.files:
            if file.byte_order_mark:
                yield Finding("mark", self.split, 0, f"a byte order mark at the start of {file.path}", "removed")
            if file.carriage_returns:
                what = f"lines with a Windows line end in {file.path}"
                yield Finding("carriage_return", self.split, file.carriage_returns, what, "removed")


def load_text(data: LanguageData) -> dict[Split, Text]:
    """The parts of the corpus named in the settings; always `train`."""
    parts = {split: Text(split, data) for split in SPLITS}
    return {split: text for split, text in parts.items() if text.is_there}


def check_text(data: LanguageData, unknown: str = "", kind: str = "") -> Report:
    """A report on the text named in the settings. Nothing is written; unreadable files are findings, too.

    `unknown` is the marker for unknown words in the text, and `kind` how it is split, as the settings say."""
    parts: dict[str, str] = {}
    findings: list[Finding] = []
    notes: list[str] = []
    texts = load_text(data)
    for split, text in texts.items():
        try:
            parts[split], found = text.report()
            findings += found
            if split == "train":
                findings += find_unspaced((line for line, _ in Text(split, data).lines()), kind, "tokens.kind")
        except DataError as error:
            findings.append(Finding("unreadable", split, 0, str(error), "refused"))
        if text.found["unk"] and not unknown:
            notes.append(
                f"{split}: <unk> stands {counted(text.found['unk'], 'time')} in the text, as a word like others; if it "
                'means an unknown word, set tokens.unknown = "<unk>"'
            )
    if data.train:  # a built-in text is divided as it should be
        findings += find_overlap({split: Text(split, data).placed() for split in texts if split in parts}, "lines")
    return Report(parts, tuple(findings), tuple(notes))
