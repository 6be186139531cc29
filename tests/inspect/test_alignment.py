"""Word alignments: subwords fold into words, END takes what it takes, and links follow the largest weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.inspect import Alignment, Joining, WordWeights, fold, link, reverse

words = st.lists(st.none() | st.integers(0, 4), max_size=7)


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


def test_words_that_share_a_token_are_linked_together() -> None:
    words = WordWeights(np.array([[0.2, 0.7, 0.7], [0.6, 0.1, 0.1]]), np.zeros(2), (0, 1, 1))
    assert link(words) == {(0, 1), (1, 0), (2, 0)}


def test_words_at_the_end_without_a_piece_have_no_weight() -> None:
    found = fold(np.ones((1, 1)), [0], [0], (2, 3))
    np.testing.assert_array_equal(found.weights, [[1, 0, 0], [0, 0, 0]])
    assert link(found) == {(0, 0)}


def random_alignment(seed: int) -> Alignment:
    draw = np.random.default_rng(seed)
    targets, sources = draw.integers(1, 6, size=2)
    forward, backward = (
        draw.dirichlet(np.full(n + 1, 0.3), size=m) for m, n in ((targets, sources), (sources, targets))
    )
    return Alignment(*(WordWeights(rows[:, :-1], rows[:, -1]) for rows in (forward, backward)))


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_directions_exchanged_exchange_the_links(seed: int, threshold: float) -> None:
    there = random_alignment(seed)
    assert there.backward is not None
    back = Alignment(there.backward, there.forward)
    np.testing.assert_allclose(there.probabilities, back.probabilities.T)
    for method in ("intersection", "union", "by-probability"):
        joining = Joining(method, threshold)
        assert there.links(joining) == reverse(back.links(joining))
    forward, backward = there.directions
    assert forward == there.links(Joining("union")) - (backward - forward)
    assert there.joined(back) == there


@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_leaves_a_part_of_the_links(seed: int, one: float, other: float) -> None:
    alignment, low, high = random_alignment(seed), min(one, other), max(one, other)
    for method in ("intersection", "union", "by-probability"):
        assert alignment.links(Joining(method, high)) <= alignment.links(Joining(method, low))
    assert alignment.backward is not None
    for source, target in alignment.links(Joining("by-probability", low)):
        a, b = alignment.forward.weights[target, source], alignment.backward.weights[source, target]
        assert 2 / (1 / a + 1 / b) == pytest.approx(alignment.probabilities[target, source])
        assert alignment.probabilities[target, source] >= low


def test_one_direction_stands_alone() -> None:
    words = WordWeights(np.array([[0.1, 0.6]]), np.array([0.3]))
    alone = Alignment(words, score=-1.0)
    assert alone.probabilities is words.weights
    assert alone.directions == ({(1, 0)}, frozenset())
    assert alone.links() == alone.links(Joining("by-probability")) == {(1, 0)}
    assert alone.links(Joining(threshold=0.7)) == frozenset()
    other = Alignment(WordWeights(np.array([[0.4], [0.2]]), np.array([0.6, 0.8])), score=-3.0)
    both = alone.joined(other)
    assert (both.backward, both.score) == (other.forward, -2.0)
    assert alone.joined(Alignment(other.forward)).score == -1.0
