"""Text and tokens on disk, picked by index through memory maps, so that a corpus may be larger than memory.

A cache is a folder. It is built under another name and renamed when complete, so there is never a partial cache.
"""

import json
import os
import platform
import re
import shutil
import sys
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from regard.disk import open_file, parse_json
from regard.loops import njit
from regard.tokens.rows import Rows

_FLUSH_EVERY = 1 << 16
_READ_AT_ONCE = 1 << 12

_OWNER = f".{platform.node()}."
"""Precedes the process id in names of unfinished folders; includes the machine, as ids are only unique per machine."""


class RaggedWriter:
    """Writes rows of different lengths, one after another, into two files: values, and where each row ends."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._values = (folder / f"{name}.{self._dtype.name}").open("wb")
        self._ends = (folder / f"{name}.ends").open("wb")
        self._unwritten = array("q")
        self._end = 0

    def append(self, row: bytes | list[int]) -> None:
        packed = row if isinstance(row, bytes) else np.asarray(row, dtype=self._dtype).tobytes()
        self._values.write(packed)
        self._end += len(packed) // self._dtype.itemsize
        self._unwritten.append(self._end)
        if len(self._unwritten) >= _FLUSH_EVERY:
            self._flush()

    def extend(self, rows: Rows) -> None:
        """Writes many rows at once."""
        self._values.write(rows.values.astype(self._dtype).tobytes())
        self._unwritten.frombytes((self._end + rows.bounds[1:]).tobytes())
        self._end += len(rows.values)
        self._flush()

    def _flush(self) -> None:
        self._ends.write(self._unwritten.tobytes())
        self._unwritten = array("q")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._values.close()
        self._ends.close()


class Ragged:
    """Rows of different lengths, read from disk as they are asked for."""

    def __init__(self, folder: Path, name: str) -> None:
        (path,) = (path for path in folder.glob(f"{name}.*") if path.suffix != ".ends")
        self._values = _mapped(path, np.dtype(path.suffix[1:]))
        self.ends = _mapped(folder / f"{name}.ends", np.dtype(np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def values(self) -> npt.NDArray[Any]:
        """All rows, one after another."""
        return self._values

    def __getitem__(self, index: int) -> npt.NDArray[Any]:
        start = int(self.ends[index - 1]) if index else 0
        return self._values[start : int(self.ends[index])]

    def between(self, start: int, stop: int) -> list[bytes]:
        """The bytes of consecutive rows, as far as there are any, in one read."""
        ends = [int(self.ends[start - 1]) if start else 0, *self.ends[start:stop].tolist()]
        packed = self._values[ends[0] : ends[-1]].tobytes()
        return [packed[start - ends[0] : end - ends[0]] for start, end in pairwise(ends)]

    def pick(self, indices: npt.NDArray[np.int64]) -> Rows:
        """Some of the rows, in the order given."""
        return Rows(*_picked(self._values, self.ends, indices))


@njit(nogil=True, cache=True)
def _picked(
    values: npt.NDArray[Any], ends: npt.NDArray[np.int64], indices: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Releases the GIL, because reading may wait for the disk."""
    bounds = np.zeros(len(indices) + 1, np.int64)
    for place in range(len(indices)):
        start = ends[indices[place] - 1] if indices[place] else 0
        bounds[place + 1] = bounds[place] + ends[indices[place]] - start
    found = np.empty(bounds[-1], np.int32)
    for place in range(len(indices)):
        shift = ends[indices[place]] - bounds[place + 1]
        for value in range(bounds[place], bounds[place + 1]):
            found[value] = values[value + shift]
    return found, bounds


def _mapped(path: Path, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    # An empty file cannot be mapped; slicing a plain array is much faster than slicing a memmap.
    if not path.stat().st_size:
        return np.zeros(0, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r")).view(np.ndarray)


class TextPairs:
    """Source and target texts of pairs, by index."""

    def __init__(self, folder: Path) -> None:
        self._rows = Ragged(folder, "text")

    def __len__(self) -> int:
        return len(self._rows) // 2

    def __getitem__(self, index: int) -> tuple[str, str]:
        return self.side(index, 0), self.side(index, 1)

    def some(self, start: int, stop: int, side: int) -> list[str]:
        """The sources (0) or the targets (1) of neighboring pairs."""
        rows = self._rows.between(2 * start, 2 * stop)
        return [row.decode() for row in rows[side::2]]

    def side(self, index: int, side: int) -> str:
        """The source (0) or the target (1) of a pair."""
        return self._rows[2 * index + side].tobytes().decode()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (self[index] for index in range(len(self)))


class Side:
    """The texts of one side (0 source, 1 target), or of both sides; can be iterated any number of times."""

    def __init__(self, pairs: TextPairs, *sides: int) -> None:
        self._pairs = pairs
        self._sides = sides

    def __iter__(self) -> Iterator[str]:
        for side in self._sides:
            for start in range(0, len(self._pairs), _READ_AT_ONCE):
                yield from self._pairs.some(start, start + _READ_AT_ONCE, side)


class TokenPairs:
    """Source and target tokens of pairs by index, with their texts, for making batches."""

    def __init__(self, folder: Path) -> None:
        self._rows = Ragged(folder, "tokens")
        self._texts = TextPairs(folder)
        self._places = _mapped(folder / "places.uint32", np.dtype(np.uint32))  # of each pair among the texts
        self._lengths = np.diff(self._rows.ends, prepend=0).astype(np.int32).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return self._lengths

    def sides(self, examples: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
        return self._rows.pick(2 * examples), self._rows.pick(2 * examples + 1)

    def text(self, index: int) -> tuple[str, str]:
        return self._texts[int(self._places[index])]


def write_texts(folder: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Writes the texts of pairs, to be read by `TextPairs`."""
    with RaggedWriter(folder, "text", np.uint8) as writer:
        for source, target in pairs:
            writer.append(source.encode())
            writer.append(target.encode())


def write_numbers(folder: Path, name: str, numbers: Iterable[int]) -> None:
    """Writes 32-bit numbers."""
    (folder / f"{name}.uint32").write_bytes(np.fromiter(numbers, dtype=np.uint32).tobytes())


_SIZES = "sizes.json"


def seal(folder: Path) -> None:
    """Records the size of each file of a finished cache."""
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    (folder / _SIZES).write_text(json.dumps(sizes), encoding="utf-8")


def is_whole(cache: Path) -> bool:
    """Whether a cache exists and all its files have their full size."""
    try:
        sizes = parse_json((cache / _SIZES).read_text(encoding="utf-8"))
        return all((cache / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def digest_of(facts: list[Any]) -> str:
    """A short name for everything that the content of a cache depends on."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def digest_of_file(path: Path) -> str:
    """A name for the content of a file."""
    with open_file(path, unpack=False) as stream:
        return file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


@contextmanager
def passing_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, deleted after the block; only a kill leaves it behind (see `sweep`)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}{_OWNER}{os.getpid()}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, renamed to `path` when complete; if another process was faster, its folder is kept."""
    with passing_folder(path) as unfinished:
        yield unfinished
        if not path.exists():
            unfinished.rename(path)


def sweep(folder: Path) -> None:
    """Removes unfinished folders left behind by killed processes of this machine."""
    for path in folder.glob("*.new"):
        owner = re.fullmatch(rf".+{re.escape(_OWNER)}(\d{{1,9}})\.new", path.name)
        if owner and not _is_alive(int(owner[1])):
            shutil.rmtree(path, ignore_errors=True)


def remove_other_caches(cache: Path) -> None:
    """Removes all caches in the folder of `cache` but this one. Processes that read one of
    them are not disturbed, and a removed cache is rebuilt when it is needed."""
    for path in cache.parent.iterdir():
        if path != cache and re.fullmatch("[0-9a-f]{16}", path.name):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # where `os.kill` would end it, whatever the signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
