"""Words and vectors for tests, and slow, plain versions of what the library does fast."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from regard.vectors import Vectors

SPACE = " \t\n\v\f\r"

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=SPACE + "\0"), min_size=1, max_size=8)
numbers = st.floats(-(2.0**60), 2.0**60, width=32)


@st.composite
def vectors(draw: st.DrawFn, least: int = 1, most: int = 8, elements: st.SearchStrategy[float] = numbers) -> Vectors:
    """A few words with a few numbers each."""
    known = draw(st.lists(words, min_size=least, max_size=most, unique=True))
    width = draw(st.integers(1, 5))
    matrix = draw(arrays.arrays(np.float32, (len(known), width), elements=elements))
    return Vectors(known, matrix)


def random_vectors(size: int = 40, width: int = 6, seed: int = 0) -> Vectors:
    """Vectors of no meaning, with words `w0`, `w1`, …"""
    matrix = np.random.default_rng(seed).standard_normal((size, width)).astype(np.float32)
    return Vectors([f"w{number}" for number in range(size)], matrix)


def equal(one: Vectors, other: Vectors) -> bool:
    """Whether words and numbers are the same, to the bit."""
    return list(one.words) == list(other.words) and one.matrix.tobytes() == other.matrix.tobytes()


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """In float64, and 0 where a vector is zero."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    lengths = np.sqrt(one @ one) * np.sqrt(other @ other)
    return float(one @ other / lengths) if lengths else 0.0
