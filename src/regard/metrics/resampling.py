"""How far a mean can be trusted, by the bootstrap over groups of numbers that go together (Efron and Tibshirani 1993).

Words of one line, or of one document, are no independent observations: groups are drawn anew as a whole.
"""

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
"""Bootstrap samples behind each interval: sacreBLEU's own number."""


def interval_of_mean(
    sums: npt.NDArray[np.number], sizes: npt.NDArray[np.number], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of a mean, given the sum and the size of each group. With differences of two systems in the
    same groups, it is that of the paired bootstrap (Koehn 2004)."""
    generator, count = np.random.default_rng(seed), len(sums)
    # One sample at a time, so that memory does not grow with their number.
    drawn = (generator.integers(0, count, count) for _ in range(resamples))
    low, high = np.quantile([sums[groups].sum() / max(sizes[groups].sum(), 1) for groups in drawn], (0.025, 0.975))
    return float(low), float(high)
