"""Words and their vectors: looking up, nearest words, analogies."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from vector_strategies import cosine, random_vectors, vectors

from regard.errors import UsageError
from regard.vectors import Neighbor, Vectors, native, similarity
from regard.vectors.spelling import nearest_spelled

moderate = st.floats(-8, 8, width=16)


def royal() -> Vectors:
    matrix = [[1, 0, 0], [1, 1, 0], [1, 0.1, 1], [1, 1.1, 1], [0, 0, 1], [-1, 0, 0]]
    return Vectors(["man", "woman", "king", "queen", "crown", "stone"], np.array(matrix, np.float32))


@given(vectors())
def test_every_word_has_its_row(given: Vectors) -> None:
    assert len(given) == len(list(given)) == len(given.words)
    for place, word in enumerate(given.words):
        assert word in given
        assert np.array_equal(given[word], given.matrix[place])
    assert "no such word" not in given


def test_views_are_no_copies() -> None:
    given = random_vectors()
    assert given.numpy() is given.matrix
    assert given.torch().data_ptr() == given.matrix.ctypes.data
    assert isinstance(given.torch(), torch.Tensor)
    assert np.shares_memory(given["w3"], given.matrix)


@given(vectors(elements=moderate), st.integers(1, 9), st.data())
def test_the_nearest_by_cosine(given: Vectors, top: int, data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(list(given.words)))
    found = given.most_similar(word, top=top)
    direct = {other: cosine(given[word], given[other]) for other in given.words if other != word}
    assert len(found) == min(top, len(direct))
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    for neighbor in found:
        assert neighbor.score == pytest.approx(direct[neighbor.word], abs=1e-5)
    if found:
        left = [score for other, score in direct.items() if other not in {name for name, _ in found}]
        assert all(score <= found[-1].score + 1e-5 for score in left)


@given(vectors(least=3, elements=moderate), st.data())
def test_analogies_by_their_formulas(given: Vectors, data: st.DataObject) -> None:
    a, b, c = data.draw(st.lists(st.sampled_from(list(given.words)), min_size=3, max_size=3, unique=True))
    rows = zip(given.words, given.matrix.astype(float), strict=True)
    unit = {word: row / (np.sqrt(row @ row) or 1) for word, row in rows}
    for word, score in given.analogy(a, b, c, top=99):
        assert score == pytest.approx(cosine(given[word], unit[b] + unit[c] - unit[a]), abs=1e-5)
    for word, score in given.analogy(a, b, c, top=99, method="multiplicative"):
        near, far = ((1 + unit[word] @ unit[b]) * (1 + unit[word] @ unit[c]) / 4, (1 + unit[word] @ unit[a]) / 2)
        assert score == pytest.approx(near / (far + 0.001), rel=1e-3, abs=1e-4)


def test_the_given_words_are_left_out_unless_kept() -> None:
    assert royal().analogy("man", "woman", "king")[0].word == "queen"
    kept = royal().analogy("man", "woman", "king", keep_given=True, top=6)
    assert {word for word, _ in kept} == set(royal().words)
    assert {word for word, _ in royal().analogy("man", "woman", "king", top=6)} == {"queen", "crown", "stone"}


@pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
@pytest.mark.parametrize("method", ["additive", "multiplicative"])
def test_the_same_as_gensim(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    models = pytest.importorskip("gensim.models")
    monkeypatch.setattr(similarity, "EPSILON", 1e-6)  # theirs
    given = random_vectors(200, 10)
    theirs = models.KeyedVectors(10)
    theirs.add_vectors(list(given.words), given.matrix)
    search = theirs.most_similar if method == "additive" else theirs.most_similar_cosmul
    expected = search(positive=["w1", "w2"], negative=["w3"], topn=20)
    found = given.most_similar(["w1", "w2"], "w3", top=20, method=method)
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-4)
    assert given.odd_one_out(["w1", "w5", "w9", "w12"]) == theirs.doesnt_match(["w1", "w5", "w9", "w12"])
    assert given.similarity("w1", "w2") == pytest.approx(theirs.similarity("w1", "w2"), abs=1e-6)


def test_a_vector_of_zeros_is_near_to_nothing() -> None:
    given = Vectors(["zero", "one", "two"], np.array([[0, 0], [1, 0], [0, -1]], np.float32))
    assert given.most_similar("zero") == [Neighbor("one", 0.0), Neighbor("two", 0.0)]
    assert given.similarity("zero", "one") == 0


def test_equal_scores_keep_the_order_of_the_words() -> None:
    given = Vectors(list("abcd"), np.ones((4, 2), np.float32))
    assert [word for word, _ in given.most_similar("b", top=2)] == ["a", "c"]


def test_the_odd_one_out() -> None:
    assert royal().odd_one_out(["man", "woman", "king", "stone"]) == "stone"


def test_the_first_words() -> None:
    assert list(royal().first(2).words) == ["man", "woman"]
    given = royal()
    assert given.first(None) is given


def test_repr_says_how_many() -> None:
    assert repr(royal()) == "<Vectors: 6 words × 3>"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("qeen", "'qeen' is not among the 6 words of these vectors; nearest in spelling: 'queen'"),
        ("Woman", "'Woman' is not among the 6 words of these vectors; nearest in spelling: 'woman' or 'man'"),
        ("xyz", "'xyz' is not among the 6 words of these vectors; no known word has a similar spelling"),
    ],
)
def test_unknown_words(word: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        royal()[word]
    assert str(raised.value) == message


@given(st.text(min_size=1, max_size=8), st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=20))
def test_near_spellings_are_known_words(word: str, known: list[str]) -> None:
    near = nearest_spelled(word, known)
    assert set(near) <= set(known)
    assert len(near) == len(set(near)) <= 3


def test_the_nearest_spelling_is_found_among_many() -> None:
    known = [f"{one}{two}{three}" for one in "bcdfg" for two in "aeiou" for three in "klmnp"] + ["hotel"]
    assert nearest_spelled("hotl", known)[0] == "hotel"


def test_what_cannot_be_vectors() -> None:
    with pytest.raises(UsageError, match="2 words cannot have 3 vectors"):
        Vectors(["a", "b"], np.zeros((3, 2), np.float32))
    with pytest.raises(UsageError, match=r"vectors are a matrix of float32, but this is float64 of shape \(1, 2\)"):
        Vectors(["a"], np.zeros((1, 2)))
    with pytest.raises(UsageError, match="'a' is among the words twice; a word has one vector"):
        Vectors(["a", "b", "a"], np.zeros((3, 2), np.float32))["b"]


def test_questions_that_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="most_similar needs at least one word"):
        royal().most_similar([])
    with pytest.raises(UsageError, match="method = 'addative': choose 'additive' or 'multiplicative'"):
        royal().most_similar("man", method="addative")
    with pytest.raises(UsageError, match="the odd one out needs at least 3 words, not 2"):
        royal().odd_one_out(["man", "king"])


def test_a_folder_without_vectors(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        Vectors.load(tmp_path)
    assert str(raised.value) == f"{tmp_path}: no vectors in this folder (no {native.POINTER}); name another, or a file"
