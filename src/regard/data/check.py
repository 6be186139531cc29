"""Checks a corpus before anything starts: its content, its problems, and what the settings do about them.

One pass over each part. Duplicates and overlaps are found by 64-bit hashes, which takes about twenty bytes of memory
per pair while reading, and about fifty while searching for duplicates.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from regard.data.corpora import OTHERWISE, FileExamples, load_corpus, place, records
from regard.data.examples import Corpora, Examples
from regard.data.faults import PairFaults
from regard.data.generated import Generated
from regard.data.pair_files import Record
from regard.data.report import Finding, Report, outcome_of
from regard.data.sides import Languages
from regard.data.unspaced import LOOKED_AT, find_unspaced
from regard.errors import DataError, counted
from regard.recipe import Data, TokenizerSettings, Tokens

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters except the tab, and the two separators that some programs treat as line ends."""

PLACES = 3
"""Maximum number of places in a finding."""

_ADVICE = {
    "empty": 'fill or remove these lines on both sides, or set data.empty to "drop"',
    "control": 'remove these characters, or set data.control to "keep" or "drop"',
    "duplicates": 'remove the repeated pairs, or set data.duplicates to "keep" or "drop"',
    "overlap": 'remove these pairs from the training text, or set data.overlap to "keep" or "drop"',
    "over_long": 'raise data.longest, or set data.over_long to "drop" or "cut"',
}

_DECIDED = ("invalid", "empty", "identical", "control", "duplicates", "overlap")
"""Kinds of problems that are handled by a setting of the same name."""


@dataclass(frozen=True)
class Checked:
    """A report, and the training pairs that the settings drop because of it."""

    report: Report
    dropped: npt.NDArray[np.bool_]
    languages: dict[str, Languages]
    """The languages of the training text, by tag."""


def check(data: Data, seed: int = 1, tokens: Tokens | None = None) -> Report:
    """A report on the corpus named in the settings. Nothing is written; unreadable files are findings, too.

    Lengths are counted in the units of `tokens` where those are known before training, and in words otherwise.
    """
    corpora = load_corpus(data, seed)
    summary = corpora.train.summary() if isinstance(corpora.train, Generated) else []
    return check_corpora(corpora, data, tokens).report.extended(notes=summary)


def check_corpora(corpora: Corpora, data: Data, tokens: Tokens | None = None) -> Checked:
    """The same for a loaded corpus, with the training pairs to be dropped."""
    tokens = tokens or Tokens()
    sides = (tokens.source, tokens.source if tokens.shared else tokens.target)
    named = {"train": corpora.train, "dev": corpora.dev, "test": corpora.test}
    parts = [_Part(name, examples, data, sides) for name, examples in named.items() if examples != ()]
    train, *others = parts
    for before, part in enumerate([*others, train]):
        part.read(others[:before])
    train.find_duplicates()
    for other in others:
        train.find_overlap(other)
    findings = tuple(finding for part in parts for finding in part.findings()) + _unspaced(corpora.train, tokens)
    read = {part.name: part.holds() for part in parts if part.is_readable}
    return Checked(Report(read, findings), train.dropped, train.all_languages())


def _unspaced(train: Examples, tokens: Tokens) -> tuple[Finding, ...]:
    """Sides whose text has no spaces between words although the tokenizer splits at spaces."""
    with suppress(DataError):  # which is a finding already
        pairs = [(record.source, record.target) for record in islice(records(train), LOOKED_AT)]
        sources, targets = zip(*pairs, strict=True) if pairs else ((), ())
        if tokens.shared:
            return find_unspaced([*sources, *targets], tokens.source.kind, "tokens.source.kind")
        return (
            *find_unspaced(sources, tokens.source.kind, "tokens.source.kind"),
            *find_unspaced(targets, tokens.target.kind, "tokens.target.kind"),
        )
    return ()


def over_long(data: Data, count: int, places: tuple[str, ...], units: str = "tokens") -> Finding:
    """Pairs of the training text that are longer than the settings allow."""
    what = f"pairs with more than {data.longest:,} {units} on a side"
    return Finding(
        "over_long", "train", count, what, outcome_of(data.over_long), "data.over_long", places, _ADVICE["over_long"]
    )


class _Part:
    """One part of a corpus while it is checked."""

    def __init__(
        self, name: str, examples: Examples, data: Data, sides: tuple[TokenizerSettings, TokenizerSettings]
    ) -> None:
        self.name = name
        self._files = examples.files if isinstance(examples, FileExamples) else None
        self._examples = examples
        self._data = data
        self._sides = sides
        self._counts: Counter[str] = Counter()
        self._places: defaultdict[str, list[str]] = defaultdict(list)
        self._pairs, self._sources = array("q"), array("q")
        self._empty, self._dropped = bytearray(), bytearray()
        self._characters = [0, 0]
        self._unreadable = ""
        self._faults: dict[str, PairFaults] = {}

    @property
    def dropped(self) -> npt.NDArray[np.bool_]:
        return np.frombuffer(self._dropped, dtype=np.bool_)

    @property
    def is_readable(self) -> bool:
        """Whether any pair of it could be read."""
        return not self._unreadable or bool(self._pairs)

    def holds(self) -> str:
        """How much is in this part."""
        files = f" in {' and '.join(self._files.paths)}" if self._files else ""
        source, target = self._characters
        characters = f"{source:,} source and {counted(target, 'target character')}"
        return f"{counted(len(self._pairs), 'pair')}{files}, {characters}"

    def read(self, others: Sequence["_Part"]) -> None:
        """Checks each pair by itself. Languages are compared with those of the first other part that has them."""
        try:
            for record in records(self._examples):
                self._look(record)
                if self._files:
                    self._look_for_faults(record, others)
        except DataError as error:
            self._unreadable = str(error)

    def languages(self, tag: str) -> Languages | None:
        """The languages of the pairs with a tag, if there are enough of these."""
        return self._faults[tag].languages() if tag in self._faults else None

    def all_languages(self) -> dict[str, Languages]:
        """The languages of each tag that has enough pairs."""
        known = {tag: faults.languages() for tag, faults in self._faults.items()}
        return {tag: found for tag, found in known.items() if found}

    def _look_for_faults(self, record: Record, others: Sequence["_Part"]) -> None:
        if record.tag not in self._faults:
            known = ((other.name, other.languages(record.tag)) for other in others)
            reference = next(((name, found) for name, found in known if found), None)
            at = partial(place, self._examples)
            self._faults[record.tag] = PairFaults(record.line, at, reference)
        self._faults[record.tag].add(record.source.strip(), record.target.strip())

    def find_duplicates(self) -> None:
        """Finds pairs that occurred before."""
        hashes = np.frombuffer(self._pairs, dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        again = np.zeros(len(hashes), dtype=np.bool_)
        again[order[1:]] = hashes[order[1:]] == hashes[order[:-1]]
        self._note_all("duplicates", again)

    def find_overlap(self, other: "_Part") -> None:
        """Finds pairs whose source is in another part too."""
        ours, theirs = (np.frombuffer(part._sources, dtype=np.int64) for part in (self, other))
        self._note_all(f"overlap with {other.name}", np.isin(ours, theirs))

    def findings(self) -> Iterator[Finding]:
        """All findings, the worst first."""
        data = self._data
        if self._unreadable:
            yield Finding("unreadable", self.name, 0, self._unreadable, "refused")
        yield from self._found("invalid", "lines of invalid UTF-8")
        for faults in self._faults.values():
            yield from faults.findings(self.name, outcome_of(self._remedy("identical")), self._setting("identical"))
        yield from self._found("empty", "pairs with an empty side")
        yield from self._found("control", "pairs with control characters")
        if (count := self._counts["over_long"]) and self.name == "train":
            units = " or ".join(dict.fromkeys(_units(side) for side in self._sides))
            yield over_long(data, count, tuple(self._places["over_long"]), units)
        yield from self._found("duplicates", "pairs that occurred before")
        for other in ("dev", "test"):
            yield from self._found(f"overlap with {other}", f"pairs whose source is in the {other} text too")
        if count := self._counts["ratio"]:
            what = f"pairs with a length ratio above {data.ratio:g} in characters"
            yield Finding("ratio", self.name, count, what, "kept", places=tuple(self._places["ratio"]))
        for file in self._files.files if self._files else ():
            if file.byte_order_mark:
                yield Finding("mark", self.name, 0, f"a byte order mark at the start of {file.path}", "removed")
            if file.carriage_returns:
                what = f"lines with a Windows line end in {file.path}"
                yield Finding("carriage_return", self.name, file.carriage_returns, what, "removed")

    def _look(self, record: Record) -> None:
        source, target, line = record.source.strip(), record.target.strip(), record.line
        self._characters[0] += len(record.source)
        self._characters[1] += len(record.target)
        self._pairs.append(hash((source, target)))
        self._sources.append(hash(source))
        self._empty.append(not source or not target)
        self._dropped.append(False)
        if source == target and source and self._remedy("identical") == "drop":
            self._dropped[line - 1] = True
        if record.invalid:
            self._note("invalid", line, record.invalid)
        if not source or not target:
            self._note("empty", line, place(self._examples, line, side=int(bool(source))))
        elif max(len(source), len(target)) > self._data.ratio * min(len(source), len(target)):
            self._note("ratio", line, f"{place(self._examples, line)} ({len(source)} to {len(target)})")
        for side, text in enumerate((record.source, record.target)):
            if found := _CONTROL.search(text):
                self._note("control", line, f"{place(self._examples, line, side)} (U+{ord(found[0]):04X})")
                break
        lengths = map(_least_tokens, (record.source, record.target), self._sides)
        if max(lengths) > self._data.longest:
            self._note("over_long", line)

    def _note_all(self, kind: str, which: npt.NDArray[np.bool_]) -> None:
        # Pairs with an empty side are counted as such and not again as duplicates of each other.
        for index in np.flatnonzero(which & ~np.frombuffer(self._empty, dtype=np.bool_)).tolist():
            self._note(kind, index + 1)

    def _note(self, kind: str, line: int, where: str = "") -> None:
        self._counts[kind] += 1
        if len(self._places[kind]) < PLACES:
            self._places[kind].append(where or place(self._examples, line))
        if self._remedy(kind) == "drop":
            self._dropped[line - 1] = True

    def _remedy(self, kind: str) -> str:
        """What the settings do about it. Evaluation data stay as they are, except for lines that are not valid text."""
        name = kind.split()[0]
        if name not in _DECIDED or (self.name != "train" and name != "invalid"):
            return "keep"
        return str(getattr(self._data, name))

    def _found(self, kind: str, what: str) -> Iterator[Finding]:
        if count := self._counts[kind]:
            name, places = kind.split()[0], tuple(self._places[kind])
            outcome = outcome_of(self._remedy(kind))
            advice = _ADVICE.get(name, "")
            if name == "invalid" and isinstance(self._examples, FileExamples):
                advice = f"{self._examples.conversion(places)}, or {OTHERWISE}"
            yield Finding(kind, self.name, count, what, outcome, self._setting(name), places, advice)

    def _setting(self, name: str) -> str:
        """The setting that handles such pairs in this part."""
        return f"data.{name}" if self.name == "train" or name == "invalid" else ""


def _units(side: TokenizerSettings) -> str:
    return side.kind if side.kind in ("characters", "bytes") else "words"


def _least_tokens(text: str, side: TokenizerSettings) -> int:
    """The minimum number of tokens of a text: subwords never cross white space."""
    match side.kind:
        case "characters":
            return len(text)
        case "bytes":
            return len(text.encode(errors="replace"))
        case _:
            return len(text.split())
