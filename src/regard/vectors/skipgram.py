"""Skip-gram with negative sampling (Mikolov et al. 2013) as a compiled loop.

As in word2vec, the words around a word each predict it. They share its negatives (Ji et al. 2016), so that the rows of
the output matrix stay in the processor's cache for the whole window; the distribution of negatives is the same.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Float32, Int32, UInt32
from numba import float32, njit

from regard.vectors.drawing import MOST_LINE, choose, logistic, next_line, window_around

Matrix = Float32[np.ndarray, "V D"]


@lru_cache
def skipgram(dimension: int, targets: int) -> Callable[..., None]:
    """The loop for vectors of a dimension, with one true target and `targets` − 1 negatives.

    Both are constants of the compiled code, so that the inner loops have no remainders, and each number is combined
    with those of all targets in registers.
    """

    @njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
    def learn(
        tokens: Int32[np.ndarray, " N"], inputs: Matrix, outputs: Matrix, keep: UInt32[np.ndarray, " V"],
        odds: UInt32[np.ndarray, " V"], alias: Int32[np.ndarray, " V"], table: Float32[np.ndarray, " C"],
        window: int, dynamic: bool, rates: tuple[float, float], state: int,
    ) -> None:  # fmt: skip
        line, chosen = np.empty(MOST_LINE, dtype=np.int32), np.empty(targets, dtype=np.int64)
        now, before = np.empty((targets, dimension), dtype=np.float32), np.empty((targets, dimension), dtype=np.float32)
        gradients = np.empty(targets, dtype=np.float32)
        after = 0
        while after < len(tokens):
            rate = float32(rates[0] + (rates[1] - rates[0]) * after / len(tokens))
            length, after, state = next_line(tokens, after, keep, line, state)
            for place in range(length):
                begin, end, state = window_around(place, length, window, dynamic, state)
                if end - begin < 2:
                    continue
                state = choose(line[place], chosen, odds, alias, state)
                for target in range(targets):
                    row = chosen[target]
                    for number in range(dimension):
                        before[target, number] = now[target, number] = outputs[row, number]
                for other in range(begin, end):
                    if other == place:
                        continue
                    vector = inputs[line[other]]
                    for target in range(targets):
                        at = float32(0)
                        for number in range(dimension):
                            at += vector[number] * now[target, number]
                        label = float32(1) if target == 0 else float32(0)
                        gradients[target] = (label - logistic(at, table)) * rate
                    for number in range(dimension):
                        value = learned = vector[number]
                        for target in range(targets):
                            was = now[target, number]
                            learned += gradients[target] * was
                            now[target, number] = was + gradients[target] * value
                        vector[number] = learned
                # Add the difference, since another worker, or a negative drawn twice, may have changed the row.
                for target in range(targets):
                    row = chosen[target]
                    for number in range(dimension):
                        outputs[row, number] += now[target, number] - before[target, number]

    compiled: Callable[..., None] = learn
    return compiled
