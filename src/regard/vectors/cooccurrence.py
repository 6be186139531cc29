"""Co-occurrence counts of words in text of any size, in bounded memory.

A pair of words at distance d is one number, (row · V + column) · window + d − 1, written into a buffer. A full buffer
is sorted, equal pairs are summed, and the result goes to disk as a run; at the end all runs are merged, a range of
pairs at a time. Sums are integers, so that counts do not depend on how often the buffer was full.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numba
import numpy as np
from jaxtyping import Float32, Int32, Int64

from regard.errors import UsageError

Weighting = Literal["flat", "dynamic", "harmonic"]
"""The weight of a pair at distance d in a window of L: 1; (L − d + 1) / L, which is the mean over windows of random
width (Mikolov et al. 2013); or 1 / d (Pennington et al. 2014)."""

Run = tuple[Int64[np.ndarray, " N"], Int64[np.ndarray, " N"]]
"""Sorted distinct pairs (row · V + column), and their units."""

MIB = 1 << 20
BYTES_A_PAIR = 24
"""Memory of a pair in a buffer, including its sum and numpy's temporary arrays for sorting."""
LEAST_PAIRS = 1 << 10
"""Minimum capacity of a buffer."""
FINE = 1 << 28
"""Units per 1 for weights 1 / d: rounding to units is far below the precision of float32."""

_RUN = ("pairs.npy", "units.npy")
_FILES = (("starts", np.int64), ("columns", np.int32), ("counts", np.float32))


@dataclass(frozen=True)
class Cooccurrence:
    """A sparse, symmetric matrix of counts by rows, memory-mapped."""

    starts: Int64[np.ndarray, " V+1"]
    """Start of each row, then the end of the last."""
    columns: Int32[np.ndarray, " N"]
    counts: Float32[np.ndarray, " N"]

    @classmethod
    def load(cls, folder: Path) -> "Cooccurrence":
        """The counts in a folder, memory-mapped."""
        return cls(*(_mapped(folder / f"{name}.{np.dtype(kind).name}", kind) for name, kind in _FILES))

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.starts) - 1

    def rows(self, first: int = 0, last: int | None = None) -> Int32[np.ndarray, " n"]:
        """The row of each entry, or of those in rows `first` to before `last`."""
        starts = self.starts[first : None if last is None else last + 1]
        return np.repeat(np.arange(first, first + len(starts) - 1, dtype=np.int32), np.diff(starts))


def counting(
    tokens: Int32[np.ndarray, " N"],
    size: int,
    folder: Path,
    *,
    window: int,
    weighting: Weighting = "flat",
    memory: int = 512,
) -> Iterator[int]:
    """Counts the co-occurrences of `size` words in a stream of their numbers, with `memory` MiB of buffers, into a
    folder. Windows do not cross negative numbers, which end a text. Yields the position in the stream; the counts are
    complete when the iterator is exhausted."""
    if size * size * window >= 1 << 63:
        raise UsageError(f"pairs of {size:,} words are too many to number; lower data.most")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="counting-", ignore_cleanup_errors=True) as scratch:
        counter = _Counter(size, window, weighting, memory * MIB // BYTES_A_PAIR, Path(scratch))
        yield from counter.add(tokens)
        _write_rows(counter.parts(), size, counter.scale, folder)


class _Counter:
    """A buffer of pairs, and the runs that it was spilled to."""

    def __init__(self, size: int, window: int, weighting: Weighting, room: int, scratch: Path) -> None:
        self.size, self.window, self.scratch = size, window, scratch
        self.units, self.scale = units_of(window, weighting)
        self.buffer = np.empty(max(LEAST_PAIRS, 2 * window, room), np.int64)
        self.used = 0
        self.runs: list[Path] = []

    def add(self, tokens: Int32[np.ndarray, " N"]) -> Iterator[int]:
        """Counts the pairs of a stream; yields the position."""
        at_once = max(1, min(1 << 20, len(self.buffer) // (2 * self.window)))
        for first in range(0, len(tokens), at_once):
            last = min(len(tokens), first + at_once)
            if self.used + 2 * self.window * (last - first) > len(self.buffer):
                self._spill()
            self.used = _pairs(tokens, first, last, self.window, self.size, self.buffer, self.used)
            yield last

    def parts(self) -> Iterator[Run]:
        """All distinct pairs, sorted, in parts."""
        if not self.runs:
            yield self._emptied()
            return
        self._spill()
        room = len(self.buffer) // 4
        self.buffer = np.empty(0, np.int64)
        yield from merged(self.runs, room)

    def _emptied(self) -> Run:
        held = self.buffer[: self.used]
        held.sort()
        self.used = 0
        sums = np.empty(len(held), np.int64)
        distinct = _add_up(held, self.window, self.units, sums)
        return held[:distinct], sums[:distinct]

    def _spill(self) -> None:
        run = self.scratch / str(len(self.runs))
        run.mkdir()
        for name, values in zip(_RUN, self._emptied(), strict=True):
            np.save(run / name, values, allow_pickle=False)
        self.runs.append(run)


def units_of(window: int, weighting: Weighting) -> tuple[Int64[np.ndarray, " L"], int]:
    """The weights of pairs at distances 1, 2, … in integer units, and the units per 1."""
    distances = np.arange(1, window + 1)
    if weighting == "flat":
        return np.ones(window, np.int64), 1
    if weighting == "dynamic":
        return (window + 1 - distances).astype(np.int64), window
    return np.rint(FINE / distances).astype(np.int64), FINE


def merged(runs: Sequence[Path], room: int) -> Iterator[Run]:
    """Merges runs on disk, in parts made of at most about `room` pairs."""
    # Samples of every `step`-th pair: between k successive samples, k runs have at most 2 · k · `step` pairs.
    step = max(1, room // (2 * len(runs)))
    samples = np.sort(np.concatenate([np.array(_opened(run)[0][::step]) for run in runs]))
    begins = [0] * len(runs)
    for border in (*samples[:: len(runs)][1:], np.iinfo(np.int64).max):
        # Reopened for each part: pages that were read count as memory while a file is mapped.
        opened = [_opened(run) for run in runs]
        ends = [int(np.searchsorted(pairs, border)) for pairs, _ in opened]
        spans = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
        pairs, units = (
            np.concatenate([run[part][span] for run, span in zip(opened, spans, strict=True)]) for part in (0, 1)
        )
        del opened
        order = np.argsort(pairs, kind="stable")
        pairs, begins = pairs[order], ends
        firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
        if len(firsts):
            yield pairs[firsts], np.add.reduceat(units[order], firsts)


def _opened(run: Path) -> Run:
    pairs, units = (np.load(run / name, mmap_mode="r") for name in _RUN)
    return pairs, units


def _write_rows(parts: Iterator[Run], size: int, scale: int, folder: Path) -> None:
    lengths = np.zeros(size, np.int64)
    with open(folder / "columns.int32", "wb") as columns, open(folder / "counts.float32", "wb") as counts:
        for pairs, units in _pieces(parts):
            rows, places = np.divmod(pairs, size)
            np.add.at(lengths, rows, 1)
            places.astype(np.int32).tofile(columns)
            (units / scale).astype(np.float32).tofile(counts)
    np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64).tofile(folder / "starts.int64")


def _pieces(parts: Iterator[Run]) -> Iterator[Run]:
    for pairs, units in parts:
        for first in range(0, len(pairs), MIB):
            yield pairs[first : first + MIB], units[first : first + MIB]


def _mapped(path: Path, kind: Any) -> np.ndarray:
    # An empty file cannot be mapped.
    return np.asarray(np.memmap(path, kind, "r")) if path.stat().st_size else np.zeros(0, kind)


@numba.njit(nogil=True, cache=True)
def _pairs(tokens: np.ndarray, first: int, last: int, window: int, size: int, buffer: np.ndarray, used: int) -> int:
    """Writes the pairs whose later word is in positions `first` to before `last`, in both orders."""
    for place in range(first, last):
        word = np.int64(tokens[place])
        if word < 0:
            continue
        for distance in range(1, min(window, place) + 1):
            other = np.int64(tokens[place - distance])
            if other < 0:
                break
            buffer[used] = (word * size + other) * window + distance - 1
            buffer[used + 1] = (other * size + word) * window + distance - 1
            used += 2
    return used


@numba.njit(nogil=True, cache=True)
def _add_up(held: np.ndarray, window: int, units: np.ndarray, sums: np.ndarray) -> int:
    """Moves the distinct pairs of a sorted buffer to its front, with their units in `sums`; returns their number."""
    distinct = -1
    last = np.int64(-1)
    for place in range(len(held)):
        pair, distance = divmod(held[place], window)
        if pair != last:
            distinct += 1
            held[distinct] = last = pair
            sums[distinct] = 0
        sums[distinct] += units[distance]
    return distinct + 1
