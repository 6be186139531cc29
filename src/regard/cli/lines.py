"""The input lines of a command, from files or standard input: in batches if they arrive fast, one by one if slowly."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import BinaryIO

from regard.cli.corpus import CONVERT
from regard.disk import MOST_BYTES, Lines
from regard.errors import DataError, UsageError

AT_ONCE = 1000
"""Lines that are processed together: many enough to sort by length, few enough to see progress."""
WAIT = 0.05
"""Seconds in which more lines may follow the first of a piece: a program that waits for its answer hardly notices."""
BLOCK = 1 << 16
"""Bytes read at a time."""

STANDARD_INPUT = "-"
"""The name of standard input among files."""


@dataclass(frozen=True)
class Line:
    """A line of text without its line end, and its place for messages."""

    text: str
    place: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def pieces_of_lines(files: Sequence[Path], prompt: str) -> Iterator[list[Line]]:
    """The lines of files one after another, or of standard input if none are named, in pieces to be processed together.
    On a terminal, the prompt is shown. An error in a line is raised after the lines before it were yielded."""
    for path in files or [Path(STANDARD_INPUT)]:
        if str(path) == STANDARD_INPUT:
            yield from _whole_lines(_arriving(prompt), "standard input, line {}")
        else:
            yield from _whole_lines(_in_pieces(iter(Lines(path))), f"{path}:{{}}")


def read_lines(prompt: str) -> list[str]:
    """All lines of standard input."""
    return [line.text for piece in pieces_of_lines([], prompt) for line in piece]


def _whole_lines(pieces: Iterator[list[bytes]], place: str) -> Iterator[list[Line]]:
    """Pieces of lines as text; `place` is a pattern for the number of a line, from 1."""
    number = 0
    for piece in pieces:
        found: list[Line] = []
        for line in piece:
            number += 1
            where = place.format(number)
            try:
                found.append(Line(_text(line, where), where))
            except DataError:
                yield found
                raise
        yield found


def _in_pieces(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while piece := list(islice(lines, AT_ONCE)):
        yield piece


def _text(line: bytes, where: str) -> str:
    if (byte := line.find(b"\0")) >= 0:
        raise DataError(
            f"{where}: contains a NUL byte (byte {byte + 1}), so this is not a text file; {CONVERT} (is it UTF-16?)"
        )
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not valid UTF-8 (byte {error.start + 1} of the line); {CONVERT}") from None


def _arriving(prompt: str) -> Iterator[list[bytes]]:
    """The lines of standard input as they arrive: after the first of a piece, those that are there or arrive within
    `WAIT`."""
    if sys.stdin is None:
        raise UsageError("standard input is closed; pipe text into the command, or name files")
    if sys.stdin.isatty():
        print(prompt, file=sys.stderr, flush=True)
    # Twice the size of a piece, so that the next one is there when this one is answered.
    queue: Queue[bytes | Exception | None] = Queue(maxsize=2 * AT_ONCE)
    # A daemon: a command that fails does not wait for a line that may never come.
    Thread(target=_fill, args=(queue, sys.stdin.buffer), daemon=True).start()
    ended = False
    while not ended:
        piece: list[bytes] = []
        until: float | None = None
        while len(piece) < AT_ONCE:
            try:
                item = queue.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except Empty:
                break
            if item is None or isinstance(item, Exception):
                ended = True
                break
            piece.append(item)
            until = until or time.monotonic() + WAIT
        if piece:
            yield piece
        if isinstance(item, Exception):
            raise item


def _fill(queue: "Queue[bytes | Exception | None]", stream: BinaryIO) -> None:
    """Puts the lines of a stream into a queue, and at the end None or the error."""
    count = 0
    try:
        for line in _split(stream):
            # Not part of the text, as in files.
            line = line.removesuffix(b"\r")
            queue.put(line if count else line.removeprefix(b"\xef\xbb\xbf"))
            count += 1
        queue.put(None)
    except (OSError, DataError) as error:
        problem = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        queue.put(DataError(f"standard input, line {count + 1}: {problem}"))


def _split(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, each as soon as it is complete; only a line feed ends one."""
    # Bypasses the buffer, whose lock a waiting thread would still hold when the program ends.
    raw, rest = getattr(stream, "raw", stream), b""
    while (block := raw.read(BLOCK)) != b"":
        if block is None:  # nothing there yet, in a non-blocking pipe
            time.sleep(WAIT)
            continue
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        if len(rest) > MOST_BYTES:
            raise DataError(f"a line of more than {MOST_BYTES:,} bytes; is this text, a sentence a line?")
    if rest:
        yield rest
