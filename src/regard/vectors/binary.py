"""word2vec's binary format: after a line `V D`, each word, a space, and D float32 numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Float32

from regard.errors import DataError, counted
from regard.vectors.text import Header

BLOCK = 1 << 24
"""Bytes read at a time."""

LONGEST = 1 << 12
"""Longest plausible word in bytes; a longer one means that the file is misread."""

_CONTROL = bytes(sorted({*range(32), 127} - set(b"\t\n\v\f\r")))


def looks_binary(sample: bytes) -> bool:
    """Whether bytes are not text: control characters, or invalid UTF-8 other than a character cut off at the end."""
    if sample.translate(None, _CONTROL) != sample:
        return True
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return error.start < len(sample) - 3
    return False


def read_binary(stream: IO[bytes], path: Path, header: Header) -> tuple[list[str], Float32[np.ndarray, "V D"]]:
    """Reads exactly the vectors that the header announces."""
    size = 4 * header.width
    places: dict[str, int] = {}
    matrix = _allocate(path, header)
    data, at = b"", 0
    for number in range(1, header.vectors + 1):
        if len(data) - at < LONGEST + size:
            data, at = data[at:] + stream.read(BLOCK + size), 0
        while data[at : at + 1] == b"\n":
            at += 1
        end = data.find(b" ", at, at + LONGEST)
        if end < 0 or end + 1 + size > len(data):
            raise _cut_off(path, number, header, data[at:])
        word = _decoded(data[at:end], path, number)
        if word in places:
            raise DataError(
                f"{path}: word {number:,}, {word!r}, has a vector already, as word {places[word]:,}; "
                "the file is damaged, or not of this format"
            )
        places[word] = number
        matrix[number - 1] = np.frombuffer(data, "<f4", header.width, end + 1)
        at = end + 1 + size
    if (data[at:] + stream.read(BLOCK)).strip(b"\n"):
        raise DataError(
            f"{path}: the header says {counted(header.vectors, 'vector')} × {header.width}, but more follows; "
            "the header is wrong, or the file is not of this format"
        )
    words = list(places)
    unusable = np.flatnonzero(~np.isfinite(matrix).all(1))
    if len(unusable):
        number = int(unusable[0]) + 1
        raise DataError(
            f"{path}: word {number:,}, {words[number - 1]!r}, has a value that is not finite; "
            "the file is damaged, or not of this format"
        )
    return words, matrix


def write_binary(stream: IO[bytes], words: Sequence[str], matrix: Float32[np.ndarray, "V D"]) -> None:
    """Writes words and numbers as word2vec does, with a line end after each vector."""
    for word, row in zip(words, matrix.astype("<f4", copy=False), strict=True):
        stream.write(b"%s %s\n" % (word.encode(), row.tobytes()))


def _decoded(word: bytes, path: Path, number: int) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: word {number:,} has byte {word[error.start]:#04x}, which is not valid UTF-8; "
            "the header gives a wrong width, or the file was not written as UTF-8"
        ) from None


def _cut_off(path: Path, number: int, header: Header, rest: bytes) -> DataError:
    if len(rest) >= LONGEST:
        return DataError(
            f"{path}: word {number:,} would be longer than {LONGEST} bytes; the header gives a wrong width, or the "
            "file is not of this format"
        )
    return DataError(
        f"{path}: ends within word {number:,} of {header.vectors:,}; the file is cut off, or its header is wrong"
    )


def _allocate(path: Path, header: Header) -> Float32[np.ndarray, "V D"]:
    try:
        return np.empty((header.vectors, header.width), np.float32)
    except (MemoryError, ValueError):
        raise DataError(
            f"{path}: the header says {counted(header.vectors, 'vector')} × {header.width}, for which there is no "
            "memory; the header is wrong, or the file is not of this format"
        ) from None
