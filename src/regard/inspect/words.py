"""Word vectors as inspections: a map of words, and the words nearest to others.

vectors = Vectors.load("runs/wiki")
map_inspection(word_map(vectors, top=300)).save("map.html")
neighbors_inspection(vectors, ["king", "woman"], ["man"])        # king − man + woman
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.inspect.figure import write_text
from regard.inspect.inspection import Array, Inspection
from regard.inspect.page import page
from regard.vectors import Vectors
from regard.vectors.mapping import WordMap


def map_inspection(found: WordMap, *, title: str = "A map of words") -> Inspection:
    """The `places` of words in the plane, their `neighbors` among the words of the map, by the cosines of their full
    vectors, and their `groups`, where they have some."""
    near = [[found.words[other] for other in others] for others in found.neighbors]
    shape = (len(found.words), len(near[0]))
    arrays = {
        "places": Array(("word", "axis"), found.places),
        "neighbors": Array(("word", "rank"), np.array(found.cosines).reshape(shape), _texts(near).reshape(shape)),
    }
    if any(found.groups):
        arrays["groups"] = Array(("word",), np.zeros(len(found.words)), _texts(found.groups))
    return Inspection(arrays, {"word": found.words}, title=title, shown=("neighbors",), note=found.conditions)


def map_page(found: WordMap, *, title: str = "A map of words") -> str:
    """The map as one HTML file that fetches nothing, to zoom, move, point at and search in."""
    return page([map_inspection(found, title="")], title=title)


def save_map_page(found: WordMap, path: str | Path, *, title: str = "A map of words") -> None:
    """Writes the page into a file."""
    write_text(map_page(found, title=title), path)


def neighbors_inspection(
    vectors: Vectors,
    positive: Sequence[str],
    negative: Sequence[str] = (),
    *,
    top: int = 10,
    method: str = "additive",
) -> Inspection:
    """The words nearest to the sum of the positive words without the negative ones (`Vectors.most_similar`)."""
    found = vectors.most_similar(positive, negative, top=top, method=method)
    title = " + ".join(positive) + "".join(f" − {word}" for word in negative)
    scores = Array(("rank",), np.array([near.score for near in found]), _texts([near.word for near in found]))
    return Inspection({"neighbors": scores}, {}, title=title, shown=("neighbors",))


def _texts(texts: Sequence[object]) -> np.ndarray:
    return np.array(texts, dtype=object)
