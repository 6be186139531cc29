"""Degenerate text: a phrase in a loop, one sentence paired with many, a repeated block."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_LEAST_UNITS = 8
_TIMES = 4
"""Minimum repetitions of a phrase in a loop."""
_LONGEST_PHRASE = 20


def is_loop(text: str) -> bool:
    """Whether a phrase that is repeated four times or more makes up half of a text; characters count where there are no
    spaces."""
    words: Sequence[str] = text.split()
    if len(words) < _LEAST_UNITS:
        if len(text) < _TIMES * _LEAST_UNITS or len(words) > 1:
            return False
        words = text
    if 2 * len(set(words)) > len(words):
        return False
    for phrase in range(1, min(_LONGEST_PHRASE, len(words) // _TIMES) + 1):
        needed = max((_TIMES - 1) * phrase, len(words) // 2 - phrase)
        same = 0
        for one, before in zip(words[phrase:], words, strict=False):
            same = same + 1 if one == before else 0
            if same >= needed:
                return True
    return False


def repeated_beside_others(
    texts: npt.NDArray[np.int64], others: npt.NDArray[np.int64], least: int
) -> npt.NDArray[np.bool_]:
    """Which pairs have a text that is paired with at least `least` different texts of the other side, by hashes."""
    different = np.unique(np.stack([texts, others], axis=1), axis=0)[:, 0]
    values, counts = np.unique(different, return_counts=True)
    return np.isin(texts, values[counts >= least])


def repeated_in_order(pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each pair, by hashes, the index of an earlier equal pair whose predecessor is equal too; -1 if none."""
    order = np.argsort(pairs, kind="stable")
    before = np.full(len(pairs), -1)
    same = pairs[order[1:]] == pairs[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    goes_on = np.zeros(len(pairs), dtype=np.bool_)
    goes_on[1:] = (before[1:] >= 0) & (before[1:] == before[:-1] + 1)
    goes_on[:-1] |= goes_on[1:]
    return np.where(goes_on & (before >= 0), before, -1)
