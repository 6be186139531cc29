"""Word vectors: learned from text, read from files, compared, evaluated and mapped."""

from typing import TYPE_CHECKING

from regard.registry import found_on_use
from regard.vectors.analogies import AnalogyScore, Answers
from regard.vectors.evaluation import evaluate
from regard.vectors.pairs import PairScore
from regard.vectors.vectors import Neighbor, Vectors, are_vectors

if TYPE_CHECKING:
    from regard.vectors.mapping import WordMap, word_map

__getattr__ = found_on_use(__name__, {"mapping": ("WordMap", "word_map")})

__all__ = [
    "AnalogyScore",
    "Answers",
    "Neighbor",
    "PairScore",
    "Vectors",
    "WordMap",
    "are_vectors",
    "evaluate",
    "word_map",
]
