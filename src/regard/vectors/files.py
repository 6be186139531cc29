"""Vector files of other programs: word2vec's text and binary formats, GloVe's, and fastText's `.vec`.

The format, and whether it is compressed by gzip, is detected from the content, not the name. Text formats have a line
`word v₁ … v_D` for each word; word2vec and fastText begin with a line `V D`, GloVe does not. In the binary format a
word and a space are followed by D little-endian float32 numbers.
"""

import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, get_args

import numpy as np
from jaxtyping import Float32

from regard.disk import open_file, sync_folder
from regard.errors import DataError, UsageError, one_of
from regard.vectors import binary, text

FileKind = Literal["text", "binary", "glove"]
"""word2vec's and fastText's text with a header, word2vec's binary format, or text without a header."""

WANTED = "vectors, a word and its numbers a line"
SAMPLE = 1 << 16
"""Bytes from which the format is detected."""

_MARK, _GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"


@dataclass(frozen=True)
class Form:
    """The format of a file."""

    kind: FileKind
    packed: bool
    start: int
    """Offset of the vectors in bytes."""
    header: text.Header | None

    def __str__(self) -> str:
        names = {"text": "text with a header", "binary": "binary", "glove": "text without a header"}
        return names[self.kind] + (", gzip" if self.packed else "")


def read(path: Path) -> tuple[list[str], Float32[np.ndarray, "V D"]]:
    """The words and vectors of a file; errors name the line or word."""
    form = form_of(path)
    with _opened(path, form.packed) as stream:
        stream.read(form.start)
        if form.kind == "binary":
            assert form.header is not None
            return binary.read_binary(stream, path, form.header)
        return text.read_text(stream, path, form.header)


def form_of(path: Path) -> Form:
    """Detects the format of a file from its first bytes."""
    with open_file(path, unpack=False, wanted=WANTED) as file:
        packed = file.read(2) == _GZIP
    with _opened(path, packed) as stream:
        sample = stream.read(SAMPLE)
    mark = len(_MARK) if sample.startswith(_MARK) else 0
    first, _, rest = sample[mark:].partition(b"\n")
    header = text.as_header(first)
    if header is None:
        if binary.looks_binary(first) and not text.is_row(first, len(first.split()) - 1):
            raise DataError(f"{path}: neither text nor word2vec's binary format, which begins with a line `V D`")
        return Form("glove", packed, mark, None)
    second = rest.partition(b"\n")[0]
    kind: FileKind = "binary" if not text.is_row(second, header.width) and binary.looks_binary(rest) else "text"
    return Form(kind, packed, mark + len(first) + 1, header)


def kind_by_name(path: Path) -> FileKind | Literal["native"]:
    """The format for a file name: `.bin` is binary, `.txt` and `.vec` are text, no suffix the native folder."""
    known: dict[str, FileKind | Literal["native"]] = {".bin": "binary", ".txt": "text", ".vec": "text", "": "native"}
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in known or (known[suffix] == "native" and path.suffix == ".gz"):
        forms = one_of([*get_args(FileKind), "native"])
        raise UsageError(
            f"{path}: the name does not tell the format; let it end in .bin, .txt or .vec (also with .gz), use no "
            f"suffix for the native folder, or say --to {forms}"
        )
    return known[suffix]


def write(path: Path, words: Sequence[str], matrix: Float32[np.ndarray, "V D"], kind: FileKind) -> None:
    """Writes a file atomically, compressed if its name ends in `.gz`."""
    for word in words:
        if not word or any(character in " \t\n\v\f\r" for character in word):
            raise UsageError(f"{word!r}: files of this format cannot hold a word that is empty or contains white space")
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            # Without a timestamp, so that the same vectors give the same file.
            packer = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) if path.suffix == ".gz" else None
            stream: IO[bytes] = packer or file  # type: ignore[assignment]
            if kind != "glove":
                stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
            (binary.write_binary if kind == "binary" else text.write_text)(stream, words, matrix)
            if packer:
                packer.close()
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); choose a folder that exists") from None


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[IO[bytes]]:
    """The decompressed bytes of a file; errors of the compression are reported as such."""
    try:
        with open_file(path, unpack=False, wanted=WANTED) as file:
            yield io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 20) if packed else file
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path}: the gzip data is cut off or damaged; get or pack the file again") from None
