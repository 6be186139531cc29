"""Where two files that should be parallel stop being so."""

from array import array
from collections.abc import Iterable
from itertools import zip_longest
from math import log
from pathlib import Path

import numpy as np
import numpy.typing as npt

from regard.errors import counted

_LEAST_LINES = 4
_FEW_LINES = 50
_FAR = 2.0
"""Natural logarithm of a length ratio so far from usual (7.4) that, among few lines, one such pair is a break."""
_WIDER = 3.0
"""How many times the variance of ratios beside other sentences is that beside translations, at least."""


def unequal_lines(source: Path, target: Path, left: Iterable[bytes], right: Iterable[bytes]) -> str:
    """What to tell about two files of unequal numbers of lines, with the first place where the length ratio breaks."""
    ratios = array("d")
    counts = [0, 0]
    for ours, theirs in zip_longest(left, right):
        counts[0] += ours is not None
        counts[1] += theirs is not None
        if ours is not None and theirs is not None:
            ratios.append(log((len(ours) + 1) / (len(theirs) + 1)))
    place = length_break(np.frombuffer(ratios, dtype=np.float64))
    shorter = source if counts[0] < counts[1] else target
    if place is None:
        where = f"the length ratio holds to the end of {shorter}; lines may be missing there"
    else:
        where = f"the length ratio first breaks near line {place + 1} ({source}:{place + 1}, {target}:{place + 1})"
    return (
        f"{source} has {counted(counts[0], 'line')} and {target} {counts[1]:,}; {where}. "
        "Mend the files so that line n of one belongs to line n of the other"
    )


def length_break(ratios: npt.NDArray[np.float64]) -> int | None:
    """The index from which on the lengths of two sides do not go together any more, None if they do to the end.

    Beside a translation the logarithm of the length ratio varies little, beside another sentence much. The break is
    where two normal distributions, one before it and a wider one from it on, explain the ratios best.
    """
    lines = len(ratios)
    if lines >= 2 * _LEAST_LINES:
        # Clipped, so that a few odd pairs do not pass for a break.
        centered = np.clip(ratios - np.median(ratios), -1.0, 1.0)
        sums, squares = np.cumsum(centered), np.cumsum(centered**2)
        before = np.arange(_LEAST_LINES, lines - _LEAST_LINES + 1)
        after = lines - before
        left = _log_variance(sums[before - 1], squares[before - 1], before)
        right = _log_variance(sums[-1] - sums[before - 1], squares[-1] - squares[before - 1], after)
        whole = _log_variance(sums[-1:], squares[-1:], np.array([lines]))[0]
        gain = (lines * whole - before * left - after * right) / 2
        gain[right < left + np.log(_WIDER)] = 0.0
        best = int(np.argmax(gain))
        # Each further parameter must explain more than chance would (Schwarz 1978), with room to spare.
        if gain[best] > 1.5 * np.log(lines) + 2:
            return int(before[best])
    if 0 < lines <= _FEW_LINES:
        far = np.flatnonzero(np.abs(ratios - np.median(ratios)) > _FAR)
        return int(far[0]) if len(far) else None
    return None


def _log_variance(
    sums: npt.NDArray[np.float64], squares: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    # The least variance stands for the rounding of lengths to whole characters.
    return np.asarray(np.log(np.maximum(squares / counts - (sums / counts) ** 2, 1e-4)))
