"""Evaluation metrics, each with its signature.

Names are found when they are first used: a model that only writes does not wait for sacreBLEU.
"""

from typing import TYPE_CHECKING

from regard.registry import found_on_use

if TYPE_CHECKING:
    from regard.metrics.alignment import (
        LinkCounts,
        Links,
        agreement,
        alignment_error_rate,
        alignment_scores,
        compare_alignments,
        count_links,
    )
    from regard.metrics.attachment import AttachmentCounts, count_attachments
    from regard.metrics.comparison import Comparison, compare
    from regard.metrics.lengths import LengthQuality, quality_by_length
    from regard.metrics.score import MetricScore
    from regard.metrics.text import accuracy, bleu, chrf, ter

__getattr__ = found_on_use(
    __name__,
    {
        "alignment": (
            *("LinkCounts", "Links", "agreement", "alignment_error_rate", "alignment_scores"),
            *("compare_alignments", "count_links"),
        ),
        "attachment": ("AttachmentCounts", "count_attachments"),
        "comparison": ("Comparison", "compare"),
        "lengths": ("LengthQuality", "quality_by_length"),
        "score": ("MetricScore",),
        "text": ("accuracy", "bleu", "chrf", "ter"),
    },
)

__all__ = [
    "AttachmentCounts",
    "Comparison",
    "LengthQuality",
    "LinkCounts",
    "Links",
    "MetricScore",
    "accuracy",
    "agreement",
    "alignment_error_rate",
    "alignment_scores",
    "bleu",
    "chrf",
    "compare",
    "compare_alignments",
    "count_attachments",
    "count_links",
    "quality_by_length",
    "ter",
]
