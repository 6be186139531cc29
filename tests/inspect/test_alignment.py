"""Word alignments: subwords fold into words, END takes what it takes, and links follow the largest weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.inspect import Links, WordWeights, fold, link, reverse, symmetrize

words = st.lists(st.none() | st.integers(0, 4), max_size=7)
link_sets = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=10)


def rows(targets: int, sources: int, seed: int) -> np.ndarray:
    if not sources:
        return np.zeros((targets, 0))
    return np.random.default_rng(seed).dirichlet(np.ones(sources), size=targets)


def folded_by_hand(
    weights: np.ndarray, targets: list[int | None], sources: list[int | None]
) -> tuple[list[list[float]], list[float]]:
    """The definition, one word at a time."""
    count = 1 + max((word for word in sources if word is not None), default=-1)
    found, elsewhere = [], []
    for target in range(1 + max((word for word in targets if word is not None), default=-1)):
        pieces = [row for row, word in enumerate(targets) if word == target]

        def mean_of(wanted: int | None, pieces: list[int] = pieces) -> float:
            got = [sum(weights[row, column] for column, word in enumerate(sources) if word == wanted) for row in pieces]
            return sum(got) / len(got) if got else 0.0

        found.append([mean_of(source) for source in range(count)])
        elsewhere.append(mean_of(None))
    return found, elsewhere


@given(words, words, st.integers(0, 99))
def test_folding_agrees_with_its_definition(targets: list[int | None], sources: list[int | None], seed: int) -> None:
    weights = rows(len(targets), len(sources), seed)
    found = fold(weights, targets, sources)
    by_hand, elsewhere = folded_by_hand(weights, targets, sources)
    np.testing.assert_allclose(found.weights, np.reshape(by_hand, found.weights.shape), atol=1e-12)
    np.testing.assert_allclose(found.elsewhere, elsewhere, atol=1e-12)


@given(words, words.filter(len), st.integers(0, 99))
def test_no_weight_is_lost_in_folding(targets: list[int | None], sources: list[int | None], seed: int) -> None:
    found = fold(rows(len(targets), len(sources), seed), targets, sources)
    sums = found.weights.sum(axis=1) + found.elsewhere
    has_pieces = [word in targets for word in range(len(sums))]
    np.testing.assert_allclose(sums, np.array(has_pieces, dtype=float), atol=1e-12)


@given(st.integers(0, 5), st.integers(1, 5), st.integers(0, 99))
def test_words_of_one_piece_fold_into_themselves(targets: int, sources: int, seed: int) -> None:
    weights = rows(targets, sources, seed)
    found = fold(weights, list(range(targets)), list(range(sources)))
    np.testing.assert_allclose(found.weights, weights)
    assert not found.elsewhere.any()


def test_subwords_and_end() -> None:
    # Häus-er END, read for house-s END.
    weights = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]], dtype=np.float32)
    found = fold(weights, [0, 0, None], [0, 0, None])
    np.testing.assert_allclose(found.weights, [[0.8]], rtol=1e-6)
    np.testing.assert_allclose(found.elsewhere, [0.2], rtol=1e-6)
    assert link(found) == {(0, 0)}


def test_folding_refuses_what_does_not_fit() -> None:
    with pytest.raises(UsageError) as caught:
        fold(np.zeros((2, 3)), [0, 1], [0, 1])
    assert str(caught.value) == (
        "weights of shape (2, 3) do not fit 2 target and 2 source tokens; give for every token its word, or None"
    )
    with pytest.raises(UsageError) as caught:
        fold(np.zeros((1, 1)), [0], [-1])
    assert str(caught.value) == "words are counted from 0, but one of [-1] is negative"


@given(words, words, st.integers(0, 99), st.floats(0, 1))
def test_a_link_is_the_largest_weight_of_its_word(
    targets: list[int | None], sources: list[int | None], seed: int, threshold: float
) -> None:
    found = fold(rows(len(targets), len(sources), seed), targets, sources)
    links = link(found, threshold)
    assert len({target for _, target in links}) == len(links)
    for source, target in links:
        weight = found.weights[target, source]
        assert weight == found.weights[target].max()
        assert weight >= max(threshold, found.elsewhere[target])
        assert source == list(found.weights[target]).index(weight)
    assert links <= link(found)


@pytest.mark.parametrize(
    ("row", "elsewhere", "threshold", "links"),
    [
        ([0.4, 0.4], 0.2, 0.0, {(0, 0)}),  # the first of equals
        ([0.2, 0.3], 0.5, 0.0, set()),  # most of it went to END
        ([0.0, 0.0], 0.0, 0.0, set()),  # it could see nothing
        ([0.2, 0.5], 0.3, 0.6, set()),  # not sure enough
        ([0.2, 0.5], 0.3, 0.5, {(1, 0)}),  # just sure enough
        ([], 1.0, 0.0, set()),  # there is no word to link with
    ],
)
def test_links(row: list[float], elsewhere: float, threshold: float, links: set[tuple[int, int]]) -> None:
    assert link(WordWeights(np.array([row]), np.array([elsewhere])), threshold) == links


@given(link_sets, link_sets)
def test_symmetrized_links_lie_between_intersection_and_union(forward: Links, backward: Links) -> None:
    grown = symmetrize(forward, backward)
    assert symmetrize(forward, backward, "intersection") <= grown <= symmetrize(forward, backward, "union")
    assert grown == symmetrize(backward, forward)
    assert symmetrize(reverse(forward), reverse(backward), "union") == reverse(symmetrize(forward, backward, "union"))


@given(link_sets)
def test_two_models_that_agree_are_left_alone(links: Links) -> None:
    for method in ("intersection", "union", "grow-diag"):
        assert symmetrize(links, links, method) == links
    assert reverse(reverse(links)) == links


def test_growing_takes_neighbors_of_words_without_links() -> None:
    forward = frozenset({(0, 0), (1, 1), (4, 4)})
    backward = frozenset({(0, 0), (1, 0), (4, 1)})
    # 1-0 touches 0-0 and its source word is free; then 1-1 touches 1-0 and its target word is; the others touch none.
    assert symmetrize(forward, backward) == {(0, 0), (1, 0), (1, 1)}
    # 1-1 would touch both links that are there, but both of its words have one already.
    assert symmetrize(frozenset({(0, 1), (1, 0)}), frozenset({(0, 1), (1, 0), (1, 1)})) == {(0, 1), (1, 0)}
