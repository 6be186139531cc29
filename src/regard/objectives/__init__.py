"""Losses. A loss is a sum, and a batch knows its count."""

from regard.objectives.likelihood import cross_entropy

__all__ = ["cross_entropy"]
