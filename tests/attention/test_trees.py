"""Distances in trees against breadth-first search."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import tree_depths, tree_distances
from regard.errors import DataError


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """Parents of a tree whose words stand in any order."""
    size = draw(st.integers(1, 9))
    order = draw(st.permutations(range(size)))
    parents = [-1] * size
    for place in range(1, size):
        parents[order[place]] = order[draw(st.integers(0, place - 1))]
    return parents


def searched(parents: list[int], start: int) -> list[int]:
    distances, frontier = {start: 0}, [start]
    for word in frontier:
        neighbors = [other for other, parent in enumerate(parents) if parent == word]
        for other in (*neighbors, parents[word]):
            if other >= 0 and other not in distances:
                distances[other] = distances[word] + 1
                frontier.append(other)
    return [distances[word] for word in range(len(parents))]


@given(trees())
def test_distances_and_depths_are_those_of_breadth_first_search(parents: list[int]) -> None:
    expected = [searched(parents, word) for word in range(len(parents))]
    assert tree_distances(torch.tensor([parents]))[0].tolist() == expected
    assert tree_depths(torch.tensor([parents]))[0].tolist() == expected[parents.index(-1)]


@given(trees(), trees())
def test_trees_of_a_batch_do_not_know_each_other(first: list[int], second: list[int]) -> None:
    size = max(len(first), len(second))
    rows = [row + [-1] * (size - len(row)) for row in (first, second)]
    both = tree_distances(torch.tensor(rows))
    for row, parents in enumerate((first, second)):
        alone = tree_distances(torch.tensor([parents]))[0]
        assert torch.equal(both[row, : len(parents), : len(parents)], alone)


def test_several_roots_hang_on_one_point_above() -> None:
    assert tree_distances(torch.tensor([[-1, 0, -1]]))[0].tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]


def test_a_root_may_be_its_own_parent() -> None:
    assert torch.equal(tree_distances(torch.tensor([[1, 1, 0]])), tree_distances(torch.tensor([[1, -1, 0]])))


def test_a_parent_that_is_no_word_is_refused() -> None:
    with pytest.raises(DataError) as error:
        tree_distances(torch.tensor([[-1, 0, 0], [-1, 3, 0]]))
    assert str(error.value) == (
        "tree 1: word 1 has parent 3, which is not a word; allowed are 0 to 2, and -1 for a root"
    )


@pytest.mark.parametrize("parents", [[1, 0, -1], [-1, 2, 3, 1]])
def test_a_cycle_is_refused(parents: list[int]) -> None:
    with pytest.raises(DataError, match=r"^tree 0: .*a tree has no cycles$"):
        tree_distances(torch.tensor([parents]))
