"""Kendall's rank correlation τ-b: whether two measures put the same things in the same order, ties counted as ties."""

import numpy as np
from jaxtyping import Float


def kendall(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> float:
    """From −1 to 1, over the places where both are numbers; NaN where either has no order."""
    known = ~(np.isnan(first) | np.isnan(second))
    one, other = (np.sign(each[known][:, None] - each[known]) for each in (first, second))
    pairs = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / pairs if pairs else float("nan")
