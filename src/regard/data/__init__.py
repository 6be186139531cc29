"""Corpora, examples, batches, loading.

Names are imported lazily, so that reading and checking files does not import torch.
"""

from typing import TYPE_CHECKING

from regard.registry import found_on_use

if TYPE_CHECKING:
    from regard.data.batch import Padded, PairBatch, SegmentBatch
    from regard.data.batches import CorpusPosition, EncodedPairs, PairBatches, evaluation_batches, plan_batches
    from regard.data.corpora import CORPORA, load_corpus
    from regard.data.examples import Corpora, Examples, Pair
    from regard.data.preparing import PreparedPairs, prepare
    from regard.data.report import Finding, Report

__getattr__ = found_on_use(
    __name__,
    {
        "batch": ("Padded", "PairBatch", "SegmentBatch"),
        "batches": ("CorpusPosition", "EncodedPairs", "PairBatches", "evaluation_batches", "plan_batches"),
        "corpora": ("CORPORA", "load_corpus"),
        "examples": ("Corpora", "Examples", "Pair"),
        "preparing": ("PreparedPairs", "prepare"),
        "report": ("Finding", "Report"),
    },
)

__all__ = [
    "CORPORA",
    "Corpora",
    "CorpusPosition",
    "EncodedPairs",
    "Examples",
    "Finding",
    "Padded",
    "Pair",
    "PairBatch",
    "PairBatches",
    "PreparedPairs",
    "Report",
    "SegmentBatch",
    "evaluation_batches",
    "load_corpus",
    "plan_batches",
    "prepare",
]
