"""Corpora, examples, batches, loading."""

from regard.data.batch import Padded, PairBatch
from regard.data.batches import EncodedPairs, PairBatches, Position, evaluation_batches
from regard.data.examples import Corpora, Examples, Pair, Span

__all__ = [
    "Corpora",
    "EncodedPairs",
    "Examples",
    "Padded",
    "Pair",
    "PairBatch",
    "PairBatches",
    "Position",
    "Span",
    "evaluation_batches",
]
