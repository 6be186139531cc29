"""Corpora, examples, batches, loading."""

from regard.data.batch import Padded, PairBatch, SegmentBatch
from regard.data.batches import CorpusPosition, EncodedPairs, PairBatches, evaluation_batches, plan_batches
from regard.data.check import check
from regard.data.corpora import CORPORA, load_corpus
from regard.data.examples import Corpora, Examples, Pair
from regard.data.preparing import PreparedPairs, prepare
from regard.data.report import Finding, Report
from regard.tokens.segmentation import Span

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
    "Span",
    "check",
    "evaluation_batches",
    "load_corpus",
    "plan_batches",
    "prepare",
]
