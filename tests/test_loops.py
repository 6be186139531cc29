"""Loops that numba compiles when they are first called."""

import subprocess
import sys

import numpy as np

from regard.loops import njit, when_compiling


@njit(nogil=True)
def _squared(number: int) -> int:
    """The square."""
    return number * number


@njit(nogil=True)
def sum_of_squares(numbers: "np.ndarray") -> int:
    total = 0
    for number in numbers:
        total += _squared(number)
    return total


def test_a_loop_calls_others_and_compiling_is_said_once() -> None:
    said: list[str] = []
    when_compiling(lambda: said.append("compiling"))
    assert _squared.__doc__ == "The square."
    assert sum_of_squares(np.arange(4)) == 14
    assert sum_of_squares(np.arange(4.0)) == 14.0
    assert _squared(3) == 9
    assert said == ["compiling"]


def test_a_model_is_loaded_without_what_writing_a_sentence_does_not_need() -> None:
    heavy = ["numba", "scipy", "sympy", "sacrebleu", "matplotlib", "rich.console"]
    code = f"import sys, regard.tasks.translator; print([name for name in {heavy} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert ended.stdout == "[]\n"
