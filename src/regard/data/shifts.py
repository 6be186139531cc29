"""Shifted lines: where line n of one side belongs to line n + 1, n - 2 … of the other, as lines are missing or extra.

A translation is long where its source is long, and keeps digits and question marks. How well lines agree in that, in
place and at a distance, is a log-likelihood ratio between lines that belong together and lines that do not; a shift is
a stretch in which another distance explains the lines far better than their place does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from regard.data.characters import Characters
from regard.data.stretches import Stretch, densest
from regard.errors import counted

Numbers = npt.NDArray[np.float64]

LINES_AT_ONCE = 1000
_NEAR = 5
"""Distances up to this one are always tried; farther ones where lengths suggest them."""
_WINDOW, _FARTHEST = 512, 4096
"""Lines in a window whose lengths are searched for elsewhere, and the maximum distance in lines."""
_NEIGHBORS = 101
"""Number of surrounding lines that the length of a line is compared with, so that sorted text can be checked too."""
_KEEPS, _BELIEVED = 0.6, 20
"""Prior probability that a translation keeps a mark, rather than having it as often as any other line (German has
commas where English has none), and the weight of this prior in lines."""
_LEAST_EVIDENCE = 40.0
"""Nats beyond which a stretch counts as shifted, corrected for autocorrelation. In text that is in order, chance alone
gave 23 at most (Tatoeba, sorted by length) and less than 12 elsewhere (`benchmarks/data_faults.py`)."""
_LEAST_LINES, _LAGS = 20, 16
_LASTING, _ENDING = 0.25, 5.0
"""Minimum length of a shift, as a multiple of its distance, if it lasts to the end or to another one, and if lines are
in place again after it. Shorter ones are similar passages: messages that several programs have, or sorted sentences
that begin alike."""
_MOST_SHIFTS = 3


@dataclass(frozen=True)
class Outline:
    """Features of each line that a translation keeps."""

    lengths: npt.NDArray[np.int64]
    marks: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Outline":
        waiting = iter(lines)
        parts = [Characters.of(some) for some in iter(lambda: list(islice(waiting, LINES_AT_ONCE)), [])]
        return cls.joined([cls(part.lengths, part.marks()) for part in parts])

    @classmethod
    def joined(cls, parts: "list[Outline]") -> "Outline":
        lengths = [np.zeros(0, dtype=np.int64), *(part.lengths for part in parts)]
        return cls(np.concatenate(lengths), np.concatenate([np.zeros(0, np.uint8), *(part.marks for part in parts)]))

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Shift:
    """A stretch in which line n of the source belongs to line n + `distance` of the target."""

    distance: int
    stretch: Stretch


def find_shifts(source: Outline, target: Outline) -> list[Shift]:
    """Stretches of shifted lines, first to last."""
    shared = min(len(source), len(target))
    if shared < _LEAST_LINES:
        return []
    agreement = _Agreement(source, target)
    explained = agreement.at(0)[:shared]
    found: list[Shift] = []
    while len(found) < _MOST_SHIFTS:
        best = max((_best(distance, agreement, explained) for distance in agreement.distances), key=_evidence)
        if not _lasts(best, [shared, *(shift.stretch.start for shift in found)]):
            break
        inside = slice(best.stretch.start, best.stretch.end)
        elsewhere = agreement.at(best.distance)[inside]
        if elsewhere.sum() <= 0.2 * best.stretch.evidence:
            break
        if best.stretch.evidence / _alike(elsewhere - explained[inside]) <= _LEAST_EVIDENCE:
            break
        found.append(best)
        explained[inside] = elsewhere
    return sorted(found, key=lambda shift: shift.stretch.start)


def _best(distance: int, agreement: "_Agreement", explained: Numbers) -> Shift:
    """The stretch that a distance explains better than the shifts found so far."""
    return Shift(distance, densest(agreement.at(distance)[: len(explained)] - explained))


def _lasts(shift: Shift, ends: list[int]) -> bool:
    """Whether a stretch is long enough for its distance; it may last to one of these ends."""
    lasts = any(abs(shift.stretch.end - end) <= _LEAST_LINES for end in ends)
    least = abs(shift.distance) * (_LASTING if lasts else _ENDING)
    return len(shift.stretch) >= max(least, _LEAST_LINES)


def _alike(evidence: Numbers) -> float:
    """The autocorrelation time of evidence: how many lines count as one independent observation, as neighbors in sorted
    text are alike. Summed while pairs of lags agree (Geyer 1992), over near lags: far ones show where a shift ends."""
    apart = evidence - evidence.mean()
    if len(apart) < 8 * _LAGS or not apart.any():
        return 1.0
    products = np.array([apart[lag:] @ apart[: len(apart) - lag] for lag in range(_LAGS)])
    pairs = (products / products[0]).reshape(-1, 2).sum(1)
    return max(1.0, 2 * float(pairs @ np.cumprod(pairs > 0)) - 1)


def _evidence(shift: Shift) -> float:
    return shift.stretch.evidence


class _Agreement:
    """How well the lines of two sides agree at each distance."""

    def __init__(self, source: Outline, target: Outline) -> None:
        self._source, self._target = source, target
        self._left, self._right = _relative(source.lengths), _relative(target.lengths)
        near = [distance for far in range(1, _NEAR + 1) for distance in (far, -far)]
        far = [len(target) - len(source), *_suggested(self._left, self._right)]
        self.distances = [each for each in dict.fromkeys([*near, *far]) if each]
        products = (self._left * self._beside(self._right, each) for each in (0, *self.distances))
        self._correlation = min(0.95, max(0.0, *(float(each.mean()) for each in products)))
        self._of_marks = _agreement_of_marks(_shares(target.marks), self._kept())

    def at(self, distance: int) -> Numbers:
        """Log-likelihood ratio of each source line and the target line at that distance: how much more probable they
        are as a translation than as unrelated lines. 0 where there is no line."""
        left, right, rho = self._left, self._beside(self._right, distance), self._correlation
        # Two standard normal variables with that correlation, against two that are independent.
        apart = rho * rho * (left**2 + right**2) - 2 * rho * left * right
        lengths = -0.5 * log(1 - rho * rho) - apart / (2 * (1 - rho * rho))
        ratio = lengths + self._of_marks[self._source.marks, self._beside(self._target.marks, distance)]
        place = np.arange(len(left)) + distance
        ratio[(place < 0) | (place >= len(self._target))] = 0.0
        # Clipped, so that a few odd pairs do not pass for a shift.
        return np.asarray(np.clip(ratio, -4.0, 8.0))

    def _kept(self) -> Numbers:
        """The probability that a translation keeps each kind of mark, at the distance where most are kept."""
        kept = np.zeros(8)
        for distance in (0, *self.distances):
            beside = self._beside(self._target.marks, distance)
            ours, theirs, differ = (_shares(each) for each in (self._source.marks, beside, self._source.marks ^ beside))
            by_chance = ours * (1 - theirs) + theirs * (1 - ours)
            lines = len(beside)
            here = (lines * (by_chance - differ) + _BELIEVED * _KEEPS) / (lines * by_chance + _BELIEVED)
            kept = np.maximum(kept, here)
        return np.minimum(kept, 0.95)

    def _beside(self, values: npt.NDArray[Any], distance: int) -> npt.NDArray[Any]:
        return values[np.clip(np.arange(len(self._source)) + distance, 0, len(values) - 1)]


def _relative(lengths: npt.NDArray[np.int64]) -> Numbers:
    """How much longer each line is than those around it, in standard deviations."""
    logs = np.log1p(lengths)
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    first = np.maximum(0, np.arange(len(logs)) - _NEIGHBORS // 2)
    last = np.minimum(len(logs), np.arange(len(logs)) + _NEIGHBORS // 2 + 1)
    above = logs - (sums[last] - sums[first]) / (last - first)
    return np.asarray(np.clip(above / max(0.05, float(above.std())), -2.5, 2.5))


_BITS = (np.arange(256)[:, None] >> np.arange(8)) & 1
"""Which kinds of marks each combination has."""


def _shares(marks: npt.NDArray[np.uint8]) -> Numbers:
    """The share of lines that have each kind of mark."""
    return np.asarray(np.bincount(marks, minlength=256) @ _BITS / len(marks))


def _agreement_of_marks(shares: Numbers, kept: Numbers) -> Numbers:
    """The log-likelihood ratio of each combination of marks in a source and in a target, given the shares of target
    lines that have them and the probabilities that they are kept."""
    ratios = np.zeros((256, 256))
    for bit, share, keeps in zip(_BITS.T, shares, kept, strict=True):
        frequency = np.clip([1 - share, share], 1e-3, 1.0)
        same = bit[:, None] == bit[None, :]
        ratios += np.log((1 - keeps) + keeps * same / frequency[bit][None, :])
    return ratios


def _suggested(left: Numbers, right: Numbers) -> Iterator[int]:
    """Distances at which the lengths of some window of lines agree far better than by chance."""
    size = 1 << ceil(log(2 * (_FARTHEST + _WINDOW), 2))
    for start in range(0, len(left), _WINDOW):
        ours = left[start : start + _WINDOW]
        around = max(0, start - _FARTHEST)
        theirs = right[around : start + _WINDOW + _FARTHEST]
        if len(ours) < _LEAST_LINES or not len(theirs):
            continue
        spectrum = np.fft.rfft(theirs, size) * np.conj(np.fft.rfft(ours, size))
        agreement = np.fft.irfft(spectrum, size)[: len(theirs)]
        scale = np.sqrt(len(ours)) * max(1e-9, float(ours.std() * theirs.std()))
        for best in np.argpartition(-agreement, min(_MOST_SHIFTS, len(theirs) - 1))[:_MOST_SHIFTS].tolist():
            if agreement[best] > 5 * scale:
                yield best - (start - around)


def unequal_lines(source: Path, target: Path, left: Iterable[bytes], right: Iterable[bytes]) -> str:
    """A message about two files with different numbers of lines, with the first place where they do not match."""
    ours, theirs = (Outline.of(line.decode(errors="replace") for line in lines) for lines in (left, right))
    shifts = find_shifts(ours, theirs)
    shorter, longer = (source, target) if len(ours) < len(theirs) else (target, source)
    if shifts:
        line = shifts[0].stretch.start + 1
        where = f"they stop belonging together near line {line:,} ({source}:{line}, {target}:{line})"
    else:
        where = f"nothing shows where they stop belonging together; lines may be missing at the end of {shorter}"
    alone = f"{longer}:{min(len(ours), len(theirs)) + 1}"
    return (
        f"{source} has {counted(len(ours), 'line')} and {target} {len(theirs):,}, none for {alone}; {where}. "
        "Mend the files so that line n of one belongs to line n of the other"
    )
