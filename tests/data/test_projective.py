"""Trees made projective, against the definition by crossing arcs."""

from hypothesis import given
from tree_strategies import crosses, is_tree, trees

from regard.data.projective import is_projective, made_projective


@given(trees())
def test_projective_trees_are_those_without_crossing_arcs(heads: tuple[int, ...]) -> None:
    assert is_projective(heads) == (not crosses(heads))


@given(trees())
def test_lifting_makes_any_tree_projective_and_counts_the_words(heads: tuple[int, ...]) -> None:
    lifted, moved = made_projective(heads)
    found = tuple(lifted)
    assert is_tree(found)
    assert not crosses(found)
    assert found.count(0) >= 1
    assert moved == sum(old != new for old, new in zip(heads, found, strict=True))
    assert (moved == 0) == (not crosses(heads))


def test_the_shortest_crossed_arc_is_lifted_to_the_head_of_its_head() -> None:
    # A hearing is scheduled on the issue today: "on the issue" belongs to the hearing.
    heads = (2, 4, 4, 0, 7, 7, 2, 4)
    lifted, moved = made_projective(heads)
    assert (lifted, moved) == ([2, 4, 4, 0, 7, 7, 4, 4], 1)
