"""Evaluation metrics, each with its signature."""

from regard.metrics.alignment import LinkCounts, Links, alignment_error_rate, count_links
from regard.metrics.comparison import Comparison, compare
from regard.metrics.lengths import LengthQuality, quality_by_length
from regard.metrics.score import MetricScore
from regard.metrics.text import accuracy, bleu, chrf, ter

__all__ = [
    "Comparison",
    "LengthQuality",
    "LinkCounts",
    "Links",
    "MetricScore",
    "accuracy",
    "alignment_error_rate",
    "bleu",
    "chrf",
    "compare",
    "count_links",
    "quality_by_length",
    "ter",
]
