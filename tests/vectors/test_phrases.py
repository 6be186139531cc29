"""Phrases are found and joined as a plain reading of word2phrase does it."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_texts import corpus_of, lines_in

from regard.recipe import VectorsData
from regard.vectors import phrases
from regard.vectors.phrases import count_pairs, join_phrases

STREAMS = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(lambda numbers: np.array(numbers, dtype=np.int32))
"""Provisional numbers: 0 is a line end."""
WORDS = ["\n", "a", "b", "c", "d"]


def plainly(numbers: list[int], least: int, score: float) -> list[str]:
    """Word2phrase (Mikolov et al. 2013), word by word."""
    words = [WORDS[number] for number in numbers]
    counts = Counter(words)
    total = sum(count for word, count in counts.items() if word != "\n")
    usable = {word for word in counts if word != "\n" and counts[word] >= least}
    pairs = Counter(pair for pair in pairwise(words) if set(pair) <= usable)
    joined, place = [], 0
    while place < len(words):
        pair = tuple(words[place : place + 2])
        if pair in pairs and (pairs[pair] - least) * total / (counts[pair[0]] * counts[pair[1]]) >= score:
            joined.append("_".join(pair))
            place += 2
        else:
            joined.append(words[place])
            place += 1
    return joined


@given(STREAMS, st.integers(1, 3), st.floats(0.1, 3))
def test_joining_agrees_with_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, numbers: np.ndarray, least: int, score: float
) -> None:
    data = VectorsData(corpus="topics", least=least, phrases=1, phrase_score=score)
    counts = np.bincount(numbers, minlength=len(WORDS))
    path = tmp_path_factory.mktemp("joined") / "joined"
    stream_made, words, made_counts = join_phrases(numbers, WORDS, counts, data, path)
    assert [words[number] for number in stream_made] == plainly(numbers.tolist(), least, score)
    assert (np.bincount(stream_made, minlength=len(words)) == made_counts).all()


@given(STREAMS, st.integers(2, 30))
def test_pieces_change_nothing_where_lines_are_shorter(numbers: np.ndarray, size: int) -> None:
    numbers = np.insert(numbers, range(0, len(numbers), size - 1), 0).astype(np.int32)
    whole = count_pairs(numbers, np.ones(len(WORDS), dtype=bool), len(WORDS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phrases, "PIECE", size)
        pieces = count_pairs(numbers, np.ones(len(WORDS), dtype=bool), len(WORDS))
    for one, other in zip(whole, pieces, strict=True):
        assert one.tolist() == other.tolist()


def test_rare_pairs_are_forgotten_where_there_are_too_many() -> None:
    numbers = np.array([1, 2, 1, 2, 3, 4], dtype=np.int32)
    pairs, counts = count_pairs(numbers, np.ones(5, dtype=bool), 5, most=2)
    assert (pairs.tolist(), counts.tolist()) == ([1 * 5 + 2], [2])


def test_two_passes_join_three_words(tmp_path: Path) -> None:
    text = "in new york city a b\nb a in a b\na b in b a\n" * 20
    found = corpus_of(text, tmp_path, phrases=2, phrase_score=6.0)
    assert "new_york_city" in found.vocabulary.words
    assert found.vocabulary.counts[found.vocabulary.words.index("new_york_city")] == 20
    assert lines_in(found)[0] == ["in", "new_york_city", "a", "b"]
    assert list(tmp_path.glob("cache/*/joined*")) == []
