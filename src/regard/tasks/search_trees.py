"""The hypotheses of a search, as inspections."""

from collections.abc import Sequence

import numpy as np

from regard.decode.tree import SearchTree
from regard.inspect import Array, Inspection


def tree_inspection(tree: SearchTree, labels: Sequence[str], texts: Sequence[str], *, title: str) -> Inspection:
    """The tree with a label and the whole text for each of its nodes."""
    places = {tokens: place for place, tokens in enumerate(tree.nodes)}
    parents = np.array([places[tokens[:-1]] if place else -1 for tokens, place in places.items()])
    totals = np.array([*tree.nodes.values()])
    chances = np.exp(totals - np.where(parents < 0, 0.0, totals[parents]))
    ranks = np.array([1 + tree.ends.index(tokens) if tokens in tree.ends else 0 for tokens in tree.nodes])
    outputs = np.where(ranks > 0, np.array(texts, dtype=object), "")
    return Inspection(
        {
            "parents": Array(("node",), parents),
            "probabilities": Array(("node",), chances),
            "scores": Array(("node",), totals, np.array(texts, dtype=object)),
            "ranks": Array(("node",), ranks, outputs),
        },
        {"node": tuple(labels)},
        title=title,
    )


def candidates_inspection(
    chances: Sequence[float], names: Sequence[str], texts: Sequence[str], *, title: str
) -> Inspection:
    """Candidates for the next token, with the resulting texts."""
    values = np.array(chances)
    arrays = {
        "candidates": Array(("rank",), values, np.array(names, dtype=object)),
        "texts": Array(("rank",), values, np.array(texts, dtype=object)),
    }
    return Inspection(arrays, {}, title=title)
