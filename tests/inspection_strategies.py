"""Inspections of every shape, with labels that try to break out of the pictures."""

import numpy as np
from hypothesis import strategies as st

from regard.inspect import Array, Inspection, Links

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


def random_inspection(
    source: list[str],
    target: list[str],
    *,
    layers: int = 1,
    heads: int = 1,
    seed: int = 0,
    gold: Links = frozenset(),
    title: str = "",
) -> Inspection:
    """Attention from target to source whose rows sum to one, states of the source, and candidates."""
    draw = np.random.default_rng(seed)
    sizes, names = (heads, len(target)), [f"decoder.layers.{layer}.cross.weights" for layer in range(layers)]
    weights = {
        name: draw.dirichlet(np.ones(len(source)), size=sizes) if source else np.zeros((*sizes, 0)) for name in names
    }
    arrays = {name: Array(("head", "target", "source"), values) for name, values in weights.items()}
    arrays["encoder.state"] = Array(("source", "feature"), draw.normal(size=(len(source), 3)))
    arrays["surprisals"] = Array(("target",), draw.random(len(target)) * 9)
    texts = draw.choice(np.array([*source, "x"], dtype=object), size=(len(target), 2))
    arrays["candidates"] = Array(("target", "rank"), draw.random((len(target), 2)), texts)
    return Inspection(
        arrays, {"source": tuple(source), "target": tuple(target)}, title=title, shown=tuple(names), gold=gold
    )


@st.composite
def some_inspections(draw: st.DrawFn) -> Inspection:
    """One with one to three layers and heads, and links anywhere."""
    source, target = draw(st.lists(labels, min_size=1, max_size=6)), draw(st.lists(labels, min_size=1, max_size=6))
    place = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return random_inspection(
        source,
        target,
        layers=draw(st.integers(1, 3)),
        heads=draw(st.integers(1, 3)),
        seed=draw(st.integers(0, 99)),
        gold=draw(st.frozensets(place, max_size=3)),
        title=draw(labels),
    )
