"""Word vectors: learned from the company words keep, read from files, compared, measured and drawn."""

from regard.vectors.vectors import Neighbor, Vectors

__all__ = ["Neighbor", "Vectors"]
