"""Vectors as lines of text, `word v₁ … v_D`."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from jaxtyping import Float32

from regard.errors import DataError, counted

BLOCK = 1 << 24
"""Bytes read at a time."""

LARGEST = float(np.finfo(np.float32).max)

_WRITTEN = 1024
"""Lines written at a time."""


class Header(NamedTuple):
    """The numbers of a first line `V D`."""

    vectors: int
    width: int


def as_header(line: bytes) -> Header | None:
    """The line as a header, if it is two integers."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return Header(*map(int, fields))


def is_row(line: bytes, width: int) -> bool:
    """Whether a line is a word and `width` numbers."""
    fields = line.split()
    return 0 < width < len(fields) and all(_is_number(field) for field in fields[len(fields) - width :])


def read_text(stream: IO[bytes], path: Path, header: Header | None) -> tuple[list[str], Float32[np.ndarray, "V D"]]:
    """Reads all lines after the header, if there is one, and checks that they agree with it."""
    words: list[str] = []
    parts: list[np.ndarray] = []
    width = header.width if header else None
    first = 2 if header else 1
    for lines in _blocks(stream):
        if width is None:
            width = len(lines[0].split()) - 1
        rows = _Rows(path, first + len(words), width, promised=header is not None)
        parts.append(rows.parse(lines, words))
    if header and len(words) != header.vectors:
        raise DataError(
            f"{path}:1: the header says {counted(header.vectors, 'vector')} × {header.width}, but there are "
            f"{len(words):,}; the file is cut off, or the header is wrong"
        )
    _refuse_duplicates(words, path, first)
    return words, np.concatenate(parts) if parts else np.zeros((0, width or 0), np.float32)


def write_text(stream: IO[bytes], words: Sequence[str], matrix: Float32[np.ndarray, "V D"]) -> None:
    """Writes lines; nine digits identify every float32, so that reading restores the same numbers."""
    form = "%s" + " %.9g" * matrix.shape[1] + "\n"
    for start in range(0, len(words), _WRITTEN):
        rows = zip(words[start : start + _WRITTEN], matrix[start : start + _WRITTEN].tolist(), strict=True)
        stream.write("".join([form % (word, *row) for word, row in rows]).encode())


class _Rows:
    """Parses the lines of a block: all at once, or one by one if the fast path fails."""

    def __init__(self, path: Path, first: int, width: int, *, promised: bool) -> None:
        self.path, self.first, self.width = path, first, width
        self.source = "the header says" if promised else "the first line has"

    def parse(self, lines: Sequence[bytes], words: list[str]) -> Float32[np.ndarray, "V D"]:
        """The numbers of lines; their words are appended to `words`."""
        cut = [line.partition(b" ") for line in lines]
        plain = self.width > 0 and all(word and rest.count(b" ") == self.width - 1 for word, _, rest in cut)
        values = self._numbers(b" ".join([rest for _, _, rest in cut])) if plain else None
        if values is None or len(values) != len(lines) * self.width or not np.isfinite(values).all():
            cut = [self._cut(number, line) for number, line in enumerate(lines, start=self.first)]
            numbered = enumerate(cut, start=self.first)
            values = np.array([self._checked(number, rest) for number, (_, _, rest) in numbered], np.float32)
        try:
            words.extend(b"\n".join([word for word, _, _ in cut]).decode().split("\n"))
        except UnicodeDecodeError:
            for number, (word, _, _) in enumerate(cut, start=self.first):
                self._refuse_bytes(number, word)
        return values.reshape(len(lines), self.width)

    def _numbers(self, joined: bytes) -> np.ndarray | None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            try:
                return np.fromstring(joined, dtype=np.float32, sep=" ")
            except (DeprecationWarning, ValueError):
                return None

    def _cut(self, number: int, line: bytes) -> tuple[bytes, bytes, bytes]:
        """Splits a line with other separators than single spaces, or with spaces in the word."""
        where = f"{self.path}:{number}"
        fields = line.split()
        if not fields:
            raise DataError(f"{where}: the line is empty; remove it")
        if self.width < 1:
            raise DataError(f"{where}: no numbers after the word; a line is a word and its numbers")
        word = line.rsplit(maxsplit=self.width)[0]
        extra = fields[1 : len(fields) - self.width]
        if len(fields) <= self.width or any(_is_number(field) for field in extra):
            values = counted(len(fields) - 1, "value")
            raise DataError(
                f"{where}: {values} for {_shown(fields[0])}, but {self.source} {self.width}; fix or remove the line"
            )
        return word, b" ", b" ".join(fields[len(fields) - self.width :])

    def _checked(self, number: int, rest: bytes) -> list[float]:
        for field in rest.split():
            if not _is_number(field):
                raise DataError(f"{self.path}:{number}: {_shown(field)} is not a number; fix or remove the line")
            if not abs(float(field)) <= LARGEST:
                raise DataError(
                    f"{self.path}:{number}: {_shown(field)} is not a finite float32 number; fix or remove the line"
                )
        return list(map(float, rest.split()))

    def _refuse_bytes(self, number: int, word: bytes) -> None:
        try:
            word.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.path}:{number}: byte {word[error.start]:#04x} in the word {_shown(word)} is not valid UTF-8; "
                "save the file as UTF-8, or remove the line"
            ) from None


def _blocks(stream: IO[bytes]) -> Iterator[list[bytes]]:
    """Blocks of complete lines, without trailing white space."""
    rest = b""
    while block := stream.read(BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        if lines:
            yield [line.rstrip() for line in lines]
    if rest:
        yield [rest.rstrip()]


def _refuse_duplicates(words: Sequence[str], path: Path, first: int) -> None:
    if len(set(words)) == len(words):
        return
    seen: dict[str, int] = {}
    for number, word in enumerate(words, start=first):
        if word in seen:
            raise DataError(
                f"{path}:{number}: {word!r} has a vector already, in line {seen[word]}; remove one of the lines"
            )
        seen[word] = number


def _is_number(field: bytes) -> bool:
    # Python's float() accepts underscores between digits.
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _shown(field: bytes) -> str:
    text = field.decode(errors="replace")
    return repr(text if len(text) <= 40 else text[:40] + "…")
