"""Word vectors: learned from text, read from files, compared, evaluated and mapped."""

from regard.vectors.analogies import AnalogyScore, Answers
from regard.vectors.evaluation import evaluate
from regard.vectors.pairs import PairScore
from regard.vectors.vectors import Neighbor, Vectors, are_vectors

__all__ = ["AnalogyScore", "Answers", "Neighbor", "PairScore", "Vectors", "are_vectors", "evaluate"]
