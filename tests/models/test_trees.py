"""The best tree: against all trees of small sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tree_strategies import all_trees, crosses, is_tree

from regard.errors import RegardWarning
from regard.models.parsing import trees
from regard.models.parsing.trees import best_tree

SCORES = st.integers(1, 5).flatmap(
    lambda words: arrays.arrays(
        np.float32, (words, words + 1), elements=st.one_of(st.integers(-3, 3), st.floats(-20, 20, width=32))
    )
)


def total(scores: np.ndarray, heads: tuple[int, ...]) -> float:
    return sum(float(scores[word, head]) for word, head in enumerate(heads))


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("projective", [False, True])
@given(scores=SCORES)
def test_no_tree_has_a_higher_score(scores: np.ndarray, projective: bool, single_root: bool) -> None:
    heads = tuple(best_tree(scores, projective=projective, single_root=single_root).tolist())
    allowed = [tree for tree in all_trees(len(scores), single_root=single_root) if not projective or not crosses(tree)]
    assert heads in allowed
    assert total(scores, heads) == pytest.approx(max(total(scores, tree) for tree in allowed), abs=1e-5)


@given(SCORES, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_there_is_a_tree_whatever_the_scores(scores: np.ndarray, value: float, data: st.DataObject) -> None:
    scores[data.draw(arrays.arrays(bool, scores.shape))] = value
    for projective in (False, True):
        heads = tuple(best_tree(scores, projective=projective).tolist())
        assert heads in all_trees(len(heads))
        assert not (projective and crosses(heads))


def test_a_sentence_without_words_has_an_empty_tree() -> None:
    assert best_tree(np.zeros((0, 1), np.float32)).tolist() == []


@pytest.mark.parametrize("projective", [False, True])
def test_a_sentence_of_hundreds_of_words_has_one_root(projective: bool) -> None:
    scores = np.random.default_rng(1).normal(size=(300, 301)).astype(np.float32)
    heads = tuple(best_tree(scores, projective=projective).tolist())
    assert heads.count(0) == 1
    assert is_tree(heads)
    assert heads != tuple(best_tree(scores, projective=not projective).tolist())


def test_a_sentence_too_long_for_projective_trees_keeps_its_best_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).normal(size=(1001, 1002)).astype(np.float32)
    with pytest.warns(RegardWarning) as told:
        heads = best_tree(scores, projective=True).tolist()
    assert heads == best_tree(scores).tolist()
    assert [str(each.message) for each in told] == [
        "the best tree of a sentence of 1,001 words has crossing arcs, and one without is searched for in at most "
        "1,000 words (decode.projective): this one keeps them; split the sentence"
    ]
    monkeypatch.setattr(trees, "LONGEST_PROJECTIVE", 2)
    chain = np.eye(6, 7, dtype=np.float32)  # no arcs cross, so nothing is searched for
    assert best_tree(chain, projective=True).tolist() == list(range(6))


@given(SCORES, st.floats(-50, 50, width=32), st.data())
def test_adding_to_all_scores_of_a_word_changes_no_tree(scores: np.ndarray, more: float, data: st.DataObject) -> None:
    other = scores.astype(np.float64)
    other[data.draw(st.integers(0, len(scores) - 1))] += more
    found = (tuple(best_tree(each).tolist()) for each in (scores, other))
    assert total(scores, next(found)) == pytest.approx(total(scores, next(found)), abs=1e-5)
