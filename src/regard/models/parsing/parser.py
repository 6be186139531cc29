"""The interface of parsers, and their shared parts: any encoder over root and words, and scores of relations.

    parser = build_parser(settings, ParserParts(words, vocabulary, relations=37))
    loss = parser.loss(batch)                       # summed over words
    trees = parser.trees(sentences)                 # heads, and the scores of relations

Padding changes nothing, and sentences are independent. `P` is the number of positions of a sentence: the root and the
words.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.sentences import Sentences
from regard.data.trees import UNSEEN, TreeBatch
from regard.models.encoders import build_encoder
from regard.models.words import WordInput
from regard.nn.biaffine import LabelScores
from regard.recipe import WordTable
from regard.recipe.parsing import ParserTable
from regard.tap import Tap, name_axes
from regard.tokens.word_vocabulary import WordVocabulary


def watched(tap: Tap, log_probs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Log-probabilities after a tap that shows probabilities: unchanged, unless the caller intervenes."""
    if tap.intervened:
        changed: Tensor = tap(log_probs.exp()).log()
        return changed
    if tap.recorded:
        tap.show(log_probs.exp())
    return log_probs


@dataclass(frozen=True)
class ParserParts:
    """What a parser needs besides its own table."""

    words: WordTable
    vocabulary: WordVocabulary
    relations: int
    """Number of relations."""


@dataclass(frozen=True)
class Trees:
    """The trees found for B sentences; arbitrary at padding."""

    heads: Int[Tensor, "B S"]
    """Numbered as in CoNLL-U: 0 for the root, n for the n-th word."""
    relations: Float[Tensor, "B S relations"]
    """Log-probabilities of the relations of each word to its head."""
    moves: Int[Tensor, "B M"] | None = None
    """The moves of a transition-based parser."""


class DependencyParser(nn.Module, ABC):
    """The tap `relations` shows the probabilities of relations, "B S relations". The axis `source` of taps has
    all positions, the axis `word` only the words."""

    def __init__(self, settings: ParserTable, parts: ParserParts) -> None:
        super().__init__()
        self.encoder = build_encoder(settings.encoder)
        self.words = WordInput(parts.words, parts.vocabulary, self.encoder.input_width)
        self.root = nn.Parameter(torch.randn(self.encoder.input_width))
        self.labels = LabelScores(self.encoder.width, settings.relation_width, parts.relations, settings.dropout)
        self.relations = Tap("row", "word", "relation")
        name_axes(self.encoder, step="source", query="source", key="source")
        name_axes(self.words, source="word", step="word")

    def read(self, sentences: Sentences) -> Float[Tensor, "B P E"]:
        """A vector for the root, which the encoder reads before the words, and for each word."""
        words = self.words(sentences)
        root = self.root.to(words.dtype).expand(len(words), 1, -1)
        return self.encoder.encode(torch.cat([root, words], 1), sentences.lengths + 1).features

    def relation_log_probs(
        self, features: Float[Tensor, "B P E"], heads: Int[Tensor, "B S"]
    ) -> Float[Tensor, "B S relations"]:
        """Log-probabilities of the relations of each word to its given head."""
        places = heads.unsqueeze(2).expand(-1, -1, features.shape[2])
        scores = self.labels(features[:, 1:], features.gather(1, places))
        found = F.log_softmax(scores.float(), -1)
        return watched(self.relations, found)

    def relation_loss(self, features: Float[Tensor, "B P E"], batch: TreeBatch) -> Float[Tensor, ""]:
        """Summed over the words whose relation is known."""
        found = self.relation_log_probs(features, batch.heads)
        wanted = batch.relations.masked_fill(~batch.keep, UNSEEN)
        return F.nll_loss(found.flatten(0, 1), wanted.flatten(), ignore_index=UNSEEN, reduction="sum")

    @abstractmethod
    def loss(self, batch: TreeBatch) -> Float[Tensor, ""]:
        """The training loss, summed over words, in float32."""

    @abstractmethod
    def trees(self, sentences: Sentences, *, projective: bool = False) -> Trees:
        """The trees it finds, each with one root."""
