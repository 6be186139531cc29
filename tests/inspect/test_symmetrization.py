"""Symmetrization: laws between the methods, and parity with the algorithm as it was published."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.inspect import Links, reverse, symmetrization_named, symmetrize
from regard.inspect.symmetrization import by_probability, grow_diag, grow_diag_final_and

link_sets = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final-and")


def published(forward: Links, backward: Links, *, final_and: bool, size: int = 8) -> Links:
    """The pseudo-code of Koehn et al. (2003) as it is printed in the manual of Moses, line for line."""
    neighboring = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
    either = forward | backward
    chosen = set(forward & backward)

    def is_aligned(place: int, side: int) -> bool:
        return any(link[side] == place for link in chosen)

    grown = True
    while grown:
        grown = False
        for e in range(size):
            for f in range(size):
                if (e, f) not in chosen:
                    continue
                for de, df in neighboring:
                    e_new, f_new = e + de, f + df
                    free = not is_aligned(e_new, 0) or not is_aligned(f_new, 1)
                    if free and (e_new, f_new) in either:
                        chosen.add((e_new, f_new))
                        grown = True
    for direction in (forward, backward) if final_and else ():
        for e_new in range(size):
            for f_new in range(size):
                free = not is_aligned(e_new, 0) and not is_aligned(f_new, 1)
                if free and (e_new, f_new) in direction:
                    chosen.add((e_new, f_new))
    return frozenset(chosen)


@given(st.integers(0, 10**6), st.floats(0.05, 0.6))
def test_growing_agrees_with_the_published_algorithm(seed: int, density: float) -> None:
    matrices = np.random.default_rng(seed).random((2, 8, 8)) < density
    forward, backward = (frozenset(map(tuple, np.argwhere(each).tolist())) for each in matrices)
    assert grow_diag(forward, backward) == published(forward, backward, final_and=False)
    assert grow_diag_final_and(forward, backward) == published(forward, backward, final_and=True)


@given(link_sets, link_sets)
def test_every_method_lies_between_intersection_and_union(forward: Links, backward: Links) -> None:
    both, grown, final, either = (
        symmetrize(forward, backward, method)
        for method in ("intersection", "grow-diag", "grow-diag-final-and", "union")
    )
    assert both <= grown <= final <= either
    assert grown == symmetrize(backward, forward)
    for method in ("intersection", "union"):
        assert symmetrize(reverse(forward), reverse(backward), method) == reverse(symmetrize(forward, backward, method))


@given(link_sets)
def test_two_models_that_agree_are_left_alone(links: Links) -> None:
    for method in METHODS:
        assert symmetrize(links, links, method) == links
    assert reverse(reverse(links)) == links


def test_growing_takes_neighbors_of_words_without_links() -> None:
    forward = frozenset({(0, 0), (1, 1), (4, 4)})
    backward = frozenset({(0, 0), (1, 0), (4, 1)})
    # 1-0 touches 0-0 and its source word is free; then 1-1 touches 1-0 and its target word is; the others touch none.
    assert symmetrize(forward, backward) == {(0, 0), (1, 0), (1, 1)}
    # Both words of 4-4 are still free, and then 4 has a link.
    assert symmetrize(forward, backward, "grow-diag-final-and") == {(0, 0), (1, 0), (1, 1), (4, 4)}
    # 1-1 would touch both links that are there, but both of its words have one already.
    assert symmetrize(frozenset({(0, 1), (1, 0)}), frozenset({(0, 1), (1, 0), (1, 1)})) == {(0, 1), (1, 0)}


def test_weights_that_are_zero_are_no_link_at_any_threshold() -> None:
    forward, backward = np.array([[0.9, 0.1], [0.0, 1.0]]), np.array([[0.5, 0.5], [0.0, 0.6]])
    assert by_probability(forward, backward, 0.0) == {(0, 0), (1, 1)}
    assert by_probability(forward, backward) == {(0, 0), (1, 1)}
    assert by_probability(forward, backward, 0.7) == {(1, 1)}


def test_other_names_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        symmetrization_named("grow-dia")
    assert str(caught.value).startswith("symmetrization 'grow-dia' is not known; known are 'grow-diag', ")
    with pytest.raises(UsageError) as caught:
        symmetrize(frozenset(), frozenset(), "by-probability")
    assert str(caught.value).endswith("; 'by-probability' needs the weights of both directions")
