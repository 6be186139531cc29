"""Looks of every shape, with labels that try to break out of the pictures."""

import numpy as np
from hypothesis import strategies as st

from regard.inspect import Links, Look

NASTY = [
    "Haus",
    "",
    " ",
    "</script><script>x()</script>",
    "$x^$",
    "日本",
    "صغير",
    "छोटा",
    "<b>&amp;",
    "\u2028",
    "\x00",
    "🙂",
]
labels = st.sampled_from(NASTY) | st.text(max_size=4)


def random_look(
    source: list[str],
    target: list[str],
    *,
    layers: int = 1,
    heads: int = 1,
    seed: int = 0,
    gold: Links | None = None,
    title: str = "",
) -> Look:
    """A look whose rows sum to one."""
    draw = np.random.default_rng(seed)
    weights = {
        f"decoder.layers.{layer}.cross.weights": draw.dirichlet(np.ones(len(source)), size=(heads, len(target)))
        for layer in range(layers)
    }
    return Look(tuple(source), tuple(target), weights, gold, title=title)


@st.composite
def some_looks(draw: st.DrawFn) -> Look:
    """A look with one to three layers and heads, and links anywhere."""
    source, target = draw(st.lists(labels, min_size=1, max_size=6)), draw(st.lists(labels, min_size=1, max_size=6))
    place = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return random_look(
        source,
        target,
        layers=draw(st.integers(1, 3)),
        heads=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 99)),
        gold=draw(st.none() | st.frozensets(place, max_size=3)),
        title=draw(labels),
    )
