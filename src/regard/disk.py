"""Opening files, with a reason where that fails; and writing them whole.

A kill or a full disk at any moment leaves either the old or the new, never a half. Data reaches the disk before the
name that leads to it does: files are synchronized, then renamed, then the folder that holds the name is synchronized.
"""

import gzip
import os
from pathlib import Path
from typing import IO

from regard.errors import DataError, one_of


def write_file(path: Path, content: bytes) -> None:
    """Writes a new file through to the disk; only for places that no reader looks at yet."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Replaces a file in one step: a reader sees the old content or the new one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write_file(unfinished, content)
    os.replace(unfinished, path)
    sync_folder(path.parent)


def publish_folder(unfinished: Path, path: Path) -> None:
    """Gives a finished folder its name, which must be free."""
    sync_folder(unfinished)
    os.rename(unfinished, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(path: Path, unpack: bool = True) -> IO[bytes]:
    """A file opened for reading, and unpacked if its name ends in `.gz`."""
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; name a file in it")
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: not a regular file; write the text into one, as it is read more than once")
        if path.stat().st_size == 0:
            raise DataError(f"{path}: the file is empty; name one with text, a sentence a line")
        packed = unpack and path.suffix == ".gz"
        return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]
    except FileNotFoundError:
        there = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
        nearest = f"; in that folder are {one_of(there, path.name, most=3)}" if there else ""
        raise DataError(f"{path}: no such file{nearest}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
