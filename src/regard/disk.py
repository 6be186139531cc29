"""Reading files line by line, with clear errors; and writing them atomically.

Lines end at a line feed only; other Unicode line separators are part of the text. A carriage return before the line
feed and a byte order mark at the start of a file are not.

A kill or a full disk at any moment leaves either the old or the new content, never a mixture: a file is synced, then
renamed, then its folder is synced.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from regard.encodings import convert
from regard.errors import DataError, EncodingError, one_of

MOST_BYTES = 1 << 24
"""A file with a line longer than this is not considered text."""

LINE_FEED = b"\n"

_MARK = b"\xef\xbb\xbf"


def parse_json(text: str | bytes) -> Any:
    """Parses JSON; nesting too deep for Python is a ValueError, like other errors in the text."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_file(path: Path, content: bytes) -> None:
    """Writes and syncs a new file; not atomic, so only for paths that no reader uses yet."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Replaces a file atomically: a reader sees the old content or the new one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write_file(unfinished, content)
    os.replace(unfinished, path)
    sync_folder(path.parent)


def publish_folder(unfinished: Path, path: Path) -> None:
    """Renames a finished folder to its final name, which must be free."""
    sync_folder(unfinished)
    os.rename(unfinished, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes renames in a folder durable; not needed on Windows, where folders cannot be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """The reason of an error; NumPy raises some without an errno, and so without `strerror`."""
    return error.strerror or str(error)


def open_file(path: Path, unpack: bool = True, wanted: str = "text") -> IO[bytes]:
    """Opens a file for reading, unpacked if its name ends in `.gz`; refuses an empty one, with `wanted` as advice."""
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; name a file in it")
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: not a regular file; write the text into one, as it is read more than once")
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty; name one with {wanted}")
        packed = unpack and path.suffix == ".gz"
        return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]
    except FileNotFoundError:
        names = (other.name for other in path.parent.iterdir()) if path.parent.is_dir() else ()
        visible = sorted(name for name in names if not name.startswith("."))
        nearest = f"; in that folder are {one_of(visible, path.name, most=3)}" if visible else ""
        raise DataError(f"{path}: no such file{nearest}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


@dataclass
class Lines:
    """The lines of a file, as bytes; counts the carriage returns and the byte order mark it strips."""

    path: Path
    count: int = 0
    carriage_returns: int = 0
    byte_order_mark: bool = False

    def __iter__(self) -> Iterator[bytes]:
        self.carriage_returns = self.count = 0
        with open_file(self.path) as stream:
            while line := self._next(stream):
                self.count += 1
                line = line.removesuffix(b"\n")
                if line.endswith(b"\r"):
                    self.carriage_returns += 1
                    line = line[:-1]
                if self.count == 1 and line.startswith(_MARK):
                    self.byte_order_mark = True
                    line = line.removeprefix(_MARK)
                yield line

    def _next(self, stream: IO[bytes]) -> bytes:
        # The location is formatted only for errors, because there are many lines.
        try:
            line = stream.readline(MOST_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(f"{self.path}:{self.count + 1}", error) from None
        if len(line) == MOST_BYTES:
            raise DataError(
                f"{self.path}:{self.count + 1}: a line of more than {MOST_BYTES:,} bytes; is this a file of text lines?"
            )
        return line


def _unreadable(where: str, error: Exception) -> DataError:
    if isinstance(error, gzip.BadGzipFile):
        return DataError(f"{where}: the name ends in .gz, but this is not gzip data; rename the file")
    if isinstance(error, OSError):
        return DataError(f"{where}: cannot be read: {error.strerror}")
    return DataError(f"{where}: the gzip data is cut off or damaged here; get or pack the file again")


def each_block(path: Path, size: int = 1 << 20) -> Iterator[tuple[str, int]]:
    """The text of a file in blocks of about `size` bytes that end at white space, however long its lines are; each with
    the number of bytes (compressed ones, if it is packed) read so far."""
    line, rest, ended = 1, b"", False
    with open_file(path) as stream:
        file = stream.fileobj if isinstance(stream, gzip.GzipFile) else stream
        while not ended:
            try:
                read = stream.read(size)
            except (OSError, EOFError, zlib.error) as error:
                raise _unreadable(f"{path}:{line + rest.count(LINE_FEED)}", error) from None
            ended, block = not read, rest + read
            cut = len(block) if ended else max(block.rfind(b" "), block.rfind(LINE_FEED)) + 1
            if not cut and len(block) > MOST_BYTES:
                raise DataError(f"{path}:{line}: a word of more than {MOST_BYTES:,} bytes; is this a file of text?")
            block, rest = block[:cut], block[cut:]
            yield _text(block, path, line), file.tell()
            line += block.count(LINE_FEED)


def _text(block: bytes, path: Path, line: int) -> str:
    """The text of a block that begins at line `line`."""
    try:
        text = block.decode()
    except UnicodeDecodeError as error:
        lines = block[: error.start].count(LINE_FEED)
        _, problem = decoded(block.split(LINE_FEED)[lines], path, line + lines)
        raise EncodingError(problem, to_utf8(path)) from None
    return text.removeprefix("\ufeff") if line == 1 else text


def each_line(path: Path) -> Iterator[str]:
    """Yields the lines of a text file."""
    for number, line in enumerate(Lines(path), start=1):
        text, problem = decoded(line, path, number)
        if problem:
            raise EncodingError(problem, to_utf8(path))
        yield text


def read_lines(path: Path) -> list[str]:
    """The lines of a text file."""
    return list(each_line(path))


def decoded(line: bytes, path: Path, number: int) -> tuple[str, str]:
    """The text of a line, with U+FFFD for invalid UTF-8, and a description of the first invalid byte, if any. Refuses
    NUL bytes."""
    if (place := line.find(b"\0")) >= 0:
        convert_it = to_utf8(path)
        remedy = convert_it if "iconv" in convert_it else "name a plain text file, packed by gzip or not"
        raise DataError(f"{path}:{number}: a NUL byte at byte {place + 1} of the line, so this is not text; {remedy}")
    try:
        return line.decode(), ""
    except UnicodeDecodeError as error:
        problem = f"{path}:{number}: byte {line[error.start]:#04x} at byte {error.start + 1} of the line"
        return line.decode(errors="replace"), problem


def to_utf8(path: Path) -> str:
    """Advice for a file that is not UTF-8, with the command that converts it if its encoding is recognized."""
    return convert(str(path), Lines(path))
