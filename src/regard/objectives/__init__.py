"""Losses, summed over a batch, which knows its count."""

from regard.objectives.language import segment_loss
from regard.objectives.likelihood import cross_entropy, r_drop

__all__ = ["cross_entropy", "r_drop", "segment_loss"]
