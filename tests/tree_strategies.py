"""Dependency trees of small sentences: all of them, and Hypothesis strategies."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from hypothesis import strategies as st

from regard.data.conllu import NOTHING, Sentence

TEXT = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=4)
RELATIONS = ("root", "nsubj", "nsubj:pass", "obj", "case", "punct", "det", "conj", "aux:pass", "other")


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether every word leads to the root, by walking there."""
    for start in range(1, len(heads) + 1):
        word, steps = start, 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return True


@cache
def all_trees(words: int, *, single_root: bool = True) -> tuple[tuple[int, ...], ...]:
    """The heads of every tree over so many words."""
    every: Iterator[tuple[int, ...]] = product(range(words + 1), repeat=words)
    return tuple(heads for heads in every if (not single_root or heads.count(0) == 1) and is_tree(heads))


def crosses(heads: tuple[int, ...]) -> bool:
    """Whether two arcs cross when drawn above the words, with the root before them: of any two, by definition."""
    arcs = [tuple(sorted((word, head))) for word, head in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def trees(most: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    """Trees with one root."""
    return st.integers(1, most).flatmap(lambda words: st.sampled_from(all_trees(words)))


@st.composite
def sentences(draw: st.DrawFn, most: int = 5) -> Sentence:
    """Sound sentences, with comments, multiword tokens and empty nodes."""
    heads = draw(trees(most))
    lines = [f"#{draw(TEXT)}" for _ in range(draw(st.integers(0, 2)))]

    def row(number: str, *rest: str) -> str:
        return "\t".join([number, draw(TEXT), *(draw(st.one_of(st.just(NOTHING), TEXT)) for _ in range(4)), *rest])

    lines += [row(f"0.{node + 1}", *[NOTHING] * 4) for node in range(draw(st.integers(0, 2)))]
    covered = 0
    for number, head in enumerate(heads, start=1):
        if number > covered and number < len(heads) and draw(st.booleans()):
            covered = draw(st.integers(number + 1, len(heads)))
            lines.append(row(f"{number}-{covered}", NOTHING, NOTHING, NOTHING, NOTHING))
        lines.append(row(str(number), str(head), draw(st.sampled_from(RELATIONS)), NOTHING, NOTHING))
        lines += [row(f"{number}.{node + 1}", *[NOTHING] * 4) for node in range(draw(st.integers(0, 1)))]
    return Sentence(tuple(lines))
