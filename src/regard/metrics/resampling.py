"""Confidence interval of a mean, by the bootstrap over groups (Efron and Tibshirani 1993).

Words of one line, or of one document, are not independent, so whole groups are resampled.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
"""Bootstrap samples behind each interval: sacreBLEU's default."""


def interval(
    statistic: Callable[[npt.NDArray[np.int64]], float], count: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of a statistic of `count` groups, which is given the numbers of the groups drawn."""
    generator = np.random.default_rng(seed)
    # One sample at a time, so that memory does not grow with their number.
    drawn = (generator.integers(0, count, count) for _ in range(resamples))
    low, high = np.quantile([statistic(groups) for groups in drawn], (0.025, 0.975))
    return float(low), float(high)


def interval_of_mean(
    sums: npt.NDArray[np.number], sizes: npt.NDArray[np.number], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of a mean, given the sum and the size of each group. Given the differences of two systems, this
    is the paired bootstrap (Koehn 2004)."""

    def mean(groups: npt.NDArray[np.int64]) -> float:
        return float(sums[groups].sum() / max(sizes[groups].sum(), 1))

    return interval(mean, len(sums), resamples=resamples, seed=seed)
