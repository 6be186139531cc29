"""CBOW (Mikolov et al. 2013), and both CBOW and skip-gram with character n-grams (Bojanowski et al. 2017), as one
compiled loop: the average of some rows predicts a word, and the gradient is added to each of them."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from jaxtyping import Float32, Int32, Int64, UInt32
from numba import float32, njit

from regard.vectors.drawing import MOST_LINE, choose, logistic, next_line, window_around

Matrix = Float32[np.ndarray, "R D"]


@lru_cache
def averaged(dimension: int, targets: int, cbow: bool) -> Callable[..., None]:
    """The loop for vectors of a dimension, with one true target and `targets` − 1 negatives; with CBOW the context
    predicts a word, otherwise a word predicts each context word. All three are constants of the compiled code.

    `rows[starts[w] : starts[w + 1]]` are the rows of the input matrix that are averaged for a word w.
    """

    @njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
    def learn(
        tokens: Int32[np.ndarray, " N"], inputs: Matrix, outputs: Matrix, keep: UInt32[np.ndarray, " V"],
        odds: UInt32[np.ndarray, " V"], alias: Int32[np.ndarray, " V"], table: Float32[np.ndarray, " C"],
        rows: Int32[np.ndarray, " P"], starts: Int64[np.ndarray, " S"],
        window: int, dynamic: bool, rates: tuple[float, float], state: int,
    ) -> None:  # fmt: skip
        line, chosen = np.empty(MOST_LINE, dtype=np.int32), np.empty(targets, dtype=np.int64)
        members = np.empty(2 * window * np.max(starts[1:] - starts[:-1]), dtype=np.int32)
        hidden, gradients = np.empty(dimension, dtype=np.float32), np.empty(targets, dtype=np.float32)
        now = np.empty((targets, dimension), dtype=np.float32)
        total = np.empty(dimension, dtype=np.float32)
        after = 0
        while after < len(tokens):
            rate = float32(rates[0] + (rates[1] - rates[0]) * after / len(tokens))
            length, after, state = next_line(tokens, after, keep, line, state)
            for place in range(length):
                begin, end, state = window_around(place, length, window, dynamic, state)
                if end - begin < 2:
                    continue
                if cbow:
                    count = _gather(line, begin, end, place, rows, starts, members)
                    begin, end = place, place + 1
                else:
                    count = _gather(line, place, place + 1, -1, rows, starts, members)
                _average(inputs, members, count, hidden)
                total[:] = 0
                for predicted in range(begin, end):
                    if predicted == place and not cbow:
                        continue
                    state = choose(line[predicted], chosen, odds, alias, state)
                    for target in range(targets):
                        row, at = chosen[target], float32(0)
                        for number in range(dimension):
                            value = outputs[row, number]
                            now[target, number] = value
                            at += hidden[number] * value
                        gradients[target] = (float32(target == 0) - logistic(at, table)) * rate
                    for target in range(targets):
                        row, gradient = chosen[target], gradients[target]
                        for number in range(dimension):
                            outputs[row, number] += gradient * hidden[number]
                    for number in range(dimension):
                        learned = float32(0)
                        for target in range(targets):
                            learned += gradients[target] * now[target, number]
                        hidden[number] += learned
                        total[number] += learned
                _add(inputs, members, count, total)

    compiled: Callable[..., None] = learn
    return compiled


@njit(nogil=True, cache=True)
def _gather(
    line: Int32[np.ndarray, " L"], begin: int, end: int, without: int,
    rows: Int32[np.ndarray, " P"], starts: Int64[np.ndarray, " S"], members: Int32[np.ndarray, " M"],
) -> int:  # fmt: skip
    """Writes the rows of the words from `begin` to `end`, except that at `without`, into `members`; returns their
    number."""
    count = 0
    for place in range(begin, end):
        if place != without:
            word = line[place]
            for entry in range(starts[word], starts[word + 1]):
                members[count] = rows[entry]
                count += 1
    return count


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _average(inputs: Matrix, members: Int32[np.ndarray, " M"], count: int, hidden: Float32[np.ndarray, " D"]) -> None:
    hidden[:] = 0
    for member in range(count):
        row = inputs[members[member]]
        for number in range(len(hidden)):
            hidden[number] += row[number]
    share = float32(1) / float32(count)
    for number in range(len(hidden)):
        hidden[number] *= share


@njit(nogil=True, fastmath=True, cache=True)
def _add(inputs: Matrix, members: Int32[np.ndarray, " M"], count: int, total: Float32[np.ndarray, " D"]) -> None:
    for member in range(count):
        row = inputs[members[member]]
        for number in range(len(total)):
            row[number] += total[number]
