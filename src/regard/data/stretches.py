"""Locates the begin and end of a fault in a corpus, from the evidence of each pair."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Stretch:
    """Consecutive pairs."""

    start: int
    end: int
    evidence: float
    """Sum over its pairs; the maximum of all stretches."""

    def __len__(self) -> int:
        return self.end - self.start

    def lies_in(self, other: "Stretch") -> bool:
        """Whether most of its pairs are in the other stretch."""
        shared = min(self.end, other.end) - max(self.start, other.start)
        return 2 * shared > len(self)


def densest(evidence: npt.NDArray[np.float64]) -> Stretch:
    """The stretch with the largest sum: it begins and ends where evidence for a fault turns into evidence against."""
    sums = np.concatenate([[0.0], np.cumsum(evidence)])
    gains = sums - np.minimum.accumulate(sums)
    end = int(np.argmax(gains))
    start = int(np.argmin(sums[: end + 1]))
    return Stretch(start, end, float(gains[end]))
