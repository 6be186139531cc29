"""Parallel text from files: two files of lines, or one of tab-separated values or JSON Lines; each may end in `.gz`.

Lines are split by `regard.disk`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.data.shifts import unequal_lines
from regard.disk import Lines, decoded
from regard.errors import DataError, counted, one_of


@dataclass(frozen=True, slots=True)
class Record:
    """A pair in the files, with its line."""

    line: int
    source: str
    target: str
    invalid: str = ""
    """Place and content of invalid UTF-8; those bytes are U+FFFD in the text."""
    tag: str = ""
    """The tag of its corpus, if there are several."""


@dataclass
class PairFiles:
    """One or two files of pairs. They can be read repeatedly; errors have file and line."""

    paths: Sequence[str]
    source_field: str = "source"
    target_field: str = "target"
    name: str = "data.train"
    format: str = "auto"
    """`lines`, `tsv` or `jsonl`, or `auto`, which goes by the names."""

    def __post_init__(self) -> None:
        self.files = [Lines(Path(path)) for path in self.paths]
        kinds = [Path(path.removesuffix(".gz")).suffix for path in self.paths]
        if self.format != "auto":
            kinds = ["" if self.format == "lines" else f".{self.format}"] * len(kinds)
        readers = {".tsv": self._tab_separated, ".jsonl": self._json_lines}
        self._read: Callable[[], Iterator[Record]]
        if len(kinds) == 2 and not set(kinds) & readers.keys():
            self._read = self._two_files
        elif len(kinds) == 1 and kinds[0] in readers:
            self._read = readers[kinds[0]]
        else:
            raise DataError(
                f"{self.name} = {list(self.paths)!r}: expected two files of lines (source, target), or one whose name "
                "ends in .tsv or .jsonl and holds both sides; each may end in .gz, and data.format tells for other "
                "names"
            )

    def __iter__(self) -> Iterator[Record]:
        return self._read()

    def place(self, line: int, side: int = 0) -> str:
        """The place of the source (0) or target (1) of a pair, for messages."""
        return f"{self.files[side if len(self.files) > 1 else 0].path}:{line}"

    def _two_files(self) -> Iterator[Record]:
        source, target = self.files
        for number, (left, right) in enumerate(zip_longest(source, target), start=1):
            if left is None or right is None:
                raise DataError(unequal_lines(source.path, target.path, source, target))
            left_text, left_problem = decoded(left, source.path, number)
            right_text, right_problem = decoded(right, target.path, number)
            yield Record(number, left_text, right_text, left_problem or right_problem)

    def _tab_separated(self) -> Iterator[Record]:
        (file,) = self.files
        chosen = self._columns()
        for number, line in enumerate(file, start=1):
            text, problem = decoded(line, file.path, number)
            columns = text.split("\t")
            if chosen and len(columns) < max(chosen):
                has = counted(len(columns), "column")
                raise DataError(
                    f"{file.path}:{number}: {has}, but data.source_field or data.target_field names column "
                    f"{max(chosen)}; give each line as many columns, or name another one"
                )
            if chosen:
                source, target = (columns[column - 1] for column in chosen)
            else:
                source, target = both_sides(columns, f"{file.path}:{number}")
            yield Record(number, source, target, problem)

    def _columns(self) -> tuple[int, int] | None:
        """The source and target columns of a .tsv named in the settings; None if none is."""
        fields = {"data.source_field": self.source_field, "data.target_field": self.target_field}
        if list(fields.values()) == ["source", "target"]:
            return None
        for setting, field in fields.items():
            if not field.isdecimal() or int(field) < 1:
                raise DataError(
                    f"{self.paths[0]}: {setting} = {field!r} is not a column; give its number, from 1 on, such as 1"
                )
        return int(self.source_field), int(self.target_field)

    def _json_lines(self) -> Iterator[Record]:
        (file,) = self.files
        for number, line in enumerate(file, start=1):
            where = f"{file.path}:{number}"
            text, problem = decoded(line, file.path, number)
            try:
                record = json.loads(text)
            except ValueError as error:
                raise DataError(f"{where}: not valid JSON ({error}); a line is one JSON object") from None
            except RecursionError:
                raise DataError(f"{where}: JSON too deeply nested; a line is one JSON object of strings") from None
            source = self._string(record, self.source_field, "data.source_field", where)
            target = self._string(record, self.target_field, "data.target_field", where)
            if not problem and (broken := _surrogates(source) or _surrogates(target)):
                problem = f"{where}: {broken}"
            yield Record(number, _mended(source), _mended(target), problem)

    def _string(self, record: Any, name: str, setting: str, where: str) -> str:
        if not isinstance(record, dict):
            raise DataError(f"{where}: a JSON {type(record).__name__} instead of an object such as {{{name!r}: …}}")
        fields = _fields(record)
        if name not in fields:
            there = one_of(fields, name, most=4) or "none"
            raise DataError(f"{where}: no field {name!r}; there are {there}; set {setting} to the right one")
        if not isinstance(fields[name], str):
            raise DataError(f"{where}: field {name!r} is {_short(fields[name])} and not a string; put quotes around it")
        if "\0" in fields[name]:
            raise DataError(f"{where}: a NUL character in field {name!r}, so this is not text; remove it")
        return str(fields[name])


def both_sides(columns: Sequence[str], where: str) -> tuple[str, str]:
    """Source and target, if a line has these two columns."""
    if len(columns) != 2:
        raise DataError(
            f"{where}: {counted(len(columns), 'column')} instead of 2; "
            "a line is the source, one tab character and the target; keep these (`cut -f 1,2`), or name the "
            "columns in a recipe by data.source_field and data.target_field, such as 1 and 3"
        )
    return columns[0], columns[1]


def _fields(record: dict[str, Any], prefix: str = "", depth: int = 4) -> dict[str, Any]:
    """The fields of a record by name; nested fields have dotted names."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        is_nested = isinstance(value, dict) and value and depth
        found |= _fields(value, f"{prefix}{name}.", depth - 1) if is_nested else {f"{prefix}{name}": value}
    return found


def _surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"half a surrogate pair, \\u{ord(text[error.start]):04x}"
    return ""


def _mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 40 else shown[:40] + "…"
