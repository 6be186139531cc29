"""N-grams of words are those of fastText."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.vectors.subwords import ngrams, rows_of_words

WORDS = st.lists(st.text(alphabet="abé€𝔸", min_size=1, max_size=6), min_size=1, max_size=5)


def plainly(word: str, shortest: int, longest: int, buckets: int) -> list[int]:
    marked, found = f"<{word}>", []
    for begin in range(len(marked)):
        for length in range(1, longest + 1):
            piece = marked[begin : begin + length]
            if len(piece) < max(length, shortest) or (length == 1 and piece in "<>" and begin in (0, len(marked) - 1)):
                continue
            hashed = 2166136261
            for byte in piece.encode():
                hashed = ((hashed ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
            found.append(hashed % buckets)
    return found


@given(WORDS, st.integers(1, 4), st.integers(0, 3), st.integers(1, 1000))
def test_they_agree_with_a_plain_loop(words: list[str], shortest: int, more: int, buckets: int) -> None:
    found, starts = ngrams(words, shortest, shortest + more, buckets)
    for word, begin, end in zip(words, starts, starts[1:], strict=False):
        assert found[begin:end].tolist() == plainly(word, shortest, shortest + more, buckets)


def test_they_agree_with_gensim() -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    words = ["hotel", "über", "a", "東京都"]
    found, starts = ngrams(words, 3, 6, 2000)
    for word, begin, end in zip(words, starts, starts[1:], strict=False):
        assert sorted(found[begin:end]) == sorted(fasttext.ft_ngram_hashes(word, 3, 6, 2000))


@given(WORDS)
def test_a_word_has_a_row_of_its_own_and_those_of_its_ngrams(words: list[str]) -> None:
    rows, starts = rows_of_words(words, 3, 5, 100)
    found, begins = ngrams(words, 3, 5, 100)
    for number in range(len(words)):
        assert rows[starts[number]] == number
        expected = found[begins[number] : begins[number + 1]] + len(words)
        assert rows[starts[number] + 1 : starts[number + 1]].tolist() == expected.tolist()
    alone, ends = rows_of_words(words, 3, 0, 100)
    assert alone.tolist() == list(range(len(words)))
    assert (np.diff(ends) == 1).all()
