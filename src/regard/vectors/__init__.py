"""Word vectors: learned from the company words keep, read from files, compared, measured and drawn."""

from regard.vectors.analogies import AnalogyScore, Answers
from regard.vectors.evaluation import evaluate
from regard.vectors.pairs import PairScore
from regard.vectors.vectors import Neighbor, Vectors

__all__ = ["AnalogyScore", "Answers", "Neighbor", "PairScore", "Vectors", "evaluate"]
