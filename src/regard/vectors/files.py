"""Files of vectors as others write them: word2vec's text and binary form, GloVe's, and fastText's `.vec`.

Which it is, and whether it is packed by gzip, is read off the content and not off the name. A text form is a line for
each word, `word v₁ … v_D`; word2vec and fastText begin with a line `V D`, GloVe does not. In the binary form a word and
a space are followed by D numbers of four bytes, lowest byte first.
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
"""word2vec's and fastText's text with a header, word2vec's binary form, or text without a header."""

WANTED = "vectors, a word and its numbers a line"
SAMPLE = 1 << 16
"""Bytes by which a file is judged."""

_MARK, _GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"


@dataclass(frozen=True)
class Form:
    """How a file is written."""

    kind: FileKind
    packed: bool
    start: int
    """Where the vectors begin, in bytes."""
    header: text.Header | None

    def __str__(self) -> str:
        names = {"text": "text with a header", "binary": "binary", "glove": "text without a header"}
        return names[self.kind] + (", gzip" if self.packed else "")


def read(path: Path) -> tuple[list[str], Float32[np.ndarray, "V D"]]:
    """The words and vectors of a file; what is wrong with it is named by line or word."""
    form = form_of(path)
    with _opened(path, form.packed) as stream:
        stream.read(form.start)
        if form.kind == "binary":
            assert form.header is not None
            return binary.read_binary(stream, path, form.header)
        return text.read_text(stream, path, form.header)


def form_of(path: Path) -> Form:
    """Judges a file by its first bytes."""
    with open_file(path, unpack=False, wanted=WANTED) as file:
        packed = file.read(2) == _GZIP
    with _opened(path, packed) as stream:
        sample = stream.read(SAMPLE)
    mark = len(_MARK) if sample.startswith(_MARK) else 0
    first, _, rest = sample[mark:].partition(b"\n")
    header = text.as_header(first)
    if header is None:
        if binary.looks_binary(first) and not text.is_row(first, len(first.split()) - 1):
            raise DataError(f"{path}: neither text nor word2vec's binary form, which begins with a line `V D`")
        return Form("glove", packed, mark, None)
    second = rest.partition(b"\n")[0]
    kind: FileKind = "binary" if not text.is_row(second, header.width) and binary.looks_binary(rest) else "text"
    return Form(kind, packed, mark + len(first) + 1, header)


def kind_by_name(path: Path) -> FileKind | Literal["native"]:
    """The form a name asks for: `.bin` is binary, `.txt` and `.vec` are text, no suffix the native folder."""
    known: dict[str, FileKind | Literal["native"]] = {".bin": "binary", ".txt": "text", ".vec": "text", "": "native"}
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix not in known or (known[suffix] == "native" and path.suffix == ".gz"):
        forms = one_of([*get_args(FileKind), "native"])
        raise UsageError(
            f"{path}: the name does not say in which form to write; let it end in .bin, .txt or .vec (or these and "
            f".gz), or in nothing for the native folder, or say --to {forms}"
        )
    return known[suffix]


def write(path: Path, words: Sequence[str], matrix: Float32[np.ndarray, "V D"], kind: FileKind) -> None:
    """Writes a file, packed if its name ends in `.gz`, in one step."""
    for word in words:
        if not word or any(character in " \t\n\v\f\r" for character in word):
            raise UsageError(f"{word!r}: files of this form cannot hold a word that is empty or has white space in it")
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            # Without a date, so that the same vectors give the same file.
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
    """The bytes of a file, unpacked; what is wrong with the packing is said as such."""
    try:
        with open_file(path, unpack=False, wanted=WANTED) as file:
            yield io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 20) if packed else file
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path}: the gzip data is cut off or damaged; get or pack the file again") from None
