"""Numbers with signatures."""

from regard.metrics.alignment import LinkCounts, Links, alignment_error_rate, count_links
from regard.metrics.score import Score
from regard.metrics.text import accuracy, bleu, chrf, ter

__all__ = ["LinkCounts", "Links", "Score", "accuracy", "alignment_error_rate", "bleu", "chrf", "count_links", "ter"]
