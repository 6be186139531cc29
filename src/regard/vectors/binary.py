"""word2vec's binary form: after a line `V D`, each word, a space, and D numbers of four bytes."""

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
"""Bytes of a word beyond which the place in the file must be wrong."""

_CONTROL = bytes(sorted({*range(32), 127} - set(b"\t\n\v\f\r")))


def looks_binary(sample: bytes) -> bool:
    """Whether bytes are no text: control characters, or no UTF-8 but for a character cut off at the end."""
    if sample.translate(None, _CONTROL) != sample:
        return True
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return error.start < len(sample) - 3
    return False


def read_binary(stream: IO[bytes], path: Path, header: Header) -> tuple[list[str], Float32[np.ndarray, "V D"]]:
    """Reads what the header promises, and no less and no more must be there."""
    size = 4 * header.width
    places: dict[str, int] = {}
    matrix = _room(path, header)
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
                "the file is damaged, or not of this form"
            )
        places[word] = number
        matrix[number - 1] = np.frombuffer(data, "<f4", header.width, end + 1)
        at = end + 1 + size
    if (data[at:] + stream.read(BLOCK)).strip(b"\n"):
        raise DataError(
            f"{path}: the header says {counted(header.vectors, 'vector')} × {header.width}, but more follows; "
            "the header is wrong, or the file is not of this form"
        )
    words = list(places)
    unusable = np.flatnonzero(~np.isfinite(matrix).all(1))
    if len(unusable):
        number = int(unusable[0]) + 1
        raise DataError(
            f"{path}: word {number:,}, {words[number - 1]!r}, has a value that is no finite number; "
            "the file is damaged, or not of this form"
        )
    return words, matrix


def write_binary(stream: IO[bytes], words: Sequence[str], matrix: Float32[np.ndarray, "V D"]) -> None:
    """Writes words and numbers as word2vec does, with a line end after each."""
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
            "file is not of this form"
        )
    return DataError(
        f"{path}: ends within word {number:,} of {header.vectors:,}; the file is cut off, or its header is wrong"
    )


def _room(path: Path, header: Header) -> Float32[np.ndarray, "V D"]:
    try:
        return np.empty((header.vectors, header.width), np.float32)
    except (MemoryError, ValueError):
        raise DataError(
            f"{path}: the header says {counted(header.vectors, 'vector')} × {header.width}, for which there is no "
            "memory; the header is wrong, or the file is not of this form"
        ) from None
