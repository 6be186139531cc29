"""How good vectors are by themselves: analogies and rated pairs."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from vector_strategies import random_vectors

from regard.errors import DataError, UsageError
from regard.vectors import AnalogyScore, PairScore, Vectors, analogies, evaluate
from regard.vectors.folding import Folded
from regard.vectors.pairs import RatedPair, read_pairs, spearman

SETS = Path(os.environ.get("WORDSIM", Path(__file__).parents[3] / "shared" / "data" / "wordsim"))


def questions(path: Path, size: int = 40, count: int = 300) -> Path:
    """Questions of no meaning about `random_vectors`, with a few unknown words and capitals."""
    rng = np.random.default_rng(3)
    lines = []
    for number in range(count):
        if number % 100 == 0:
            lines.append(f": {'gram' * (number == 100)}{number}")
        lines.append(" ".join(f"{rng.choice(['w', 'W'])}{place}" for place in rng.choice(size + 2, 4, replace=False)))
    path.write_text("\n".join(lines) + "\n")
    return path


def score_of(given: Vectors, path: Path, **options: object) -> AnalogyScore:
    (score,) = evaluate(given, [path], **options)  # type: ignore[arg-type]
    assert isinstance(score, AnalogyScore)
    return score


@pytest.mark.parametrize("method", ["additive", "multiplicative"])
@pytest.mark.parametrize("largest", [40 * 3, 40 * 7, 1 << 20])
def test_the_same_as_one_question_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, largest: int
) -> None:
    monkeypatch.setattr(analogies, "LARGEST", largest)
    given, path = random_vectors(), questions(tmp_path / "questions")
    score = score_of(given, path, method=method)
    for name, asked in analogies.read_analogies(path).items():
        known = [
            words for words in ([word.lower() for word in line] for line in asked) if all(w in given for w in words)
        ]
        right = sum(given.analogy(a, b, c, top=1, method=method)[0].word == d for a, b, c, d in known)
        found = score.categories[name]
        assert (found.right, found.asked, found.unknown) == (right, len(known), 100 - len(known))
    assert score.total.right > 0
    assert score.syntactic == score.categories["gram100"]
    assert score.semantic.asked == score.categories["0"].asked + score.categories["200"].asked
    assert score.conditions == f"{method}, lower case, all words, given words left out"


def test_the_same_as_gensim(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    given, path = random_vectors(), questions(tmp_path / "questions")
    theirs = models.KeyedVectors(given.width)
    theirs.add_vectors(list(given.words), given.matrix)
    for frequent in (30, 40):
        share, _ = theirs.evaluate_word_analogies(str(path), restrict_vocab=frequent)
        assert score_of(given, path, frequent=frequent).total.share == share
    assert score_of(given, path, frequent=30).conditions.endswith("the 30 most frequent words, given words left out")


def test_capitals() -> None:
    given = Vectors(["Apple", "apple", "pear"], np.array([[1, 0], [0, 1], [1, 1]], np.float32))
    assert Folded(given).places(["APPLE", "Pear"]) == (0, 1)
    assert Folded(given, exact=True).places(["apple", "pear"]) == (1, 2)
    assert Folded(given, exact=True).places(["Apple", "Pear"]) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_spearman_is_scipy_s(ranks: list[tuple[int, int]]) -> None:
    first, second = zip(*ranks, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert spearman(first, second) is None
    else:
        assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


def test_pairs_are_rated(tmp_path: Path) -> None:
    given, path = random_vectors(), tmp_path / "pairs.txt"
    rng = np.random.default_rng(0)
    rated = [(f"W{a}", f"w{b}", float(rng.random())) for a, b in rng.integers(0, 42, (50, 2))]
    path.write_text("".join(f"{a} {b} {rating}\n" for a, b, rating in rated))
    known = [(a.lower(), b, rating) for a, b, rating in rated if a.lower() in given and b in given]
    expected = spearmanr([given.similarity(a, b) for a, b, _ in known], [rating for *_, rating in known]).statistic
    assert evaluate(given, [path]) == [
        PairScore(
            "pairs.txt",
            pytest.approx(expected),
            len(known),
            50 - len(known),
            "lower case, pairs with unknown words left out",
        )
    ]
    (exact,) = evaluate(given, [path], exact=True)
    assert isinstance(exact, PairScore)
    assert (exact.spearman, exact.pairs, exact.unknown) == (None, 0, 50)
    assert exact.conditions == "exact case, pairs with unknown words left out"


@pytest.mark.parametrize(
    "content",
    [
        "love sex 6.77\ntiger cat 7.35\n",
        "love\tsex\t6.77\ntiger\tcat\t7.35\n",
        "Word 1,Word 2,Human (mean)\nlove,sex,6.77\ntiger,cat,7.35\n",
        'word1;word2;rating\n"love";"sex";6.77\ntiger;cat;7.35\n',
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\nlove\tsex\tN\t6.77\t1\ntiger\tcat\tN\t7.35\t2\n",
        "# a comment\n\nlove  sex  6.77\ntiger cat 7.35",
    ],
)
def test_spellings_of_pairs(tmp_path: Path, content: str) -> None:
    path = tmp_path / "pairs"
    path.write_text(content)
    assert read_pairs(path) == [RatedPair("love", "sex", 6.77), RatedPair("tiger", "cat", 7.35)]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a b 1\nc d\n", ":2: 'c d' is not two words and a number; fix or remove the line"),
        ("a b 1\nc d nan\n", ":2: 'c d nan' is not two words and a number; fix or remove the line"),
        ("a b\nc d 1\n", ":1: 'a b' is not two words and a number; fix or remove the line"),
        ("# nothing\n", ": no pairs in this file; a line is two words and a number"),
        (": one\na b c\n", ":2: 3 words instead of 4; a line is one analogy"),
    ],
)
def test_malformed_questions(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(DataError) as raised:
        evaluate(random_vectors(), [path])
    assert str(raised.value) == f"{path}{complaint}"


def test_a_question_before_any_category(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a b c d\n: late\n")
    with pytest.raises(DataError, match=r":1: a question before the first category; begin with a line `: name`"):
        analogies.read_analogies(path)


def test_an_unknown_method(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="method = 'x': choose 'additive' or 'multiplicative'"):
        evaluate(random_vectors(), [questions(tmp_path / "questions")], method="x")


@pytest.mark.skipif(not SETS.exists(), reason="needs the published lists")
def test_the_published_lists_are_read_whole() -> None:
    counted = {path.name: len(read_pairs(path)) for path in sorted(SETS.glob("EN-*.txt"))}
    assert counted["EN-WS-353-ALL.txt"] == 353
    assert counted["EN-SIMLEX-999.txt"] == 999
    assert counted["EN-MEN-TR-3k.txt"] == 3000
    found = analogies.read_analogies(SETS / "questions-words.txt")
    assert (len(found), sum(map(len, found.values()))) == (14, 19544)
