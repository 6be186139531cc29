"""Batches of tagged sentences, each perhaps with a label."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import pad_rows
from regard.data.fill_rows import Indices
from regard.data.sentence_batches import plan_sentences
from regard.data.sentences import NumberedSentences, Sentences
from regard.data.tagged import TaggedSentence
from regard.tokens.rows import Rows
from regard.tokens.tag_set import MISSING, TagSet
from regard.tokens.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class TaggedBatch:
    """Sentences with the tags of their words. There may be empty rows after those of the examples, to fill a shape."""

    sentences: Sentences
    tags: Int[Tensor, "B S"]
    """By number; arbitrary at padding."""
    labels: Int[Tensor, " B"]
    """By number; MISSING for sentences without a known one, and for rows that fill a shape."""
    count: int
    """Number of words and of known labels: the normalizer of the summed loss."""
    examples: tuple[int, ...]
    """Index of each row in the corpus; empty rows have none."""

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.tags), device=self.tags.device)[rank::world]
        sentences, labels = self.sentences.select(chosen), self.labels[chosen]
        return replace(
            self,
            sentences=sentences,
            tags=self.tags[chosen],
            labels=labels,
            count=_targets(sentences, labels),
            examples=self.examples[rank::world],
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        sentences = self.sentences.map(function)
        return replace(self, sentences=sentences, tags=function(self.tags), labels=function(self.labels))

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


@dataclass(frozen=True)
class NumberedTagged:
    """Many tagged sentences as numbers, from which batches are picked."""

    sentences: NumberedSentences
    tags: Rows
    labels: Indices
    """One for each sentence; MISSING where there is none or it is unknown."""

    @classmethod
    def of(
        cls, sentences: Sequence[TaggedSentence], vocabulary: WordVocabulary, tags: TagSet, labels: TagSet | None = None
    ) -> Self:
        words = NumberedSentences.of([sentence.words for sentence in sentences], vocabulary)
        known = labels.encode([sentence.label] for sentence in sentences) if labels else [[MISSING]] * len(sentences)
        return cls(
            words,
            Rows.of(tags.encode(sentence.tags for sentence in sentences)),
            np.array(known, dtype=np.int64).reshape(-1),
        )

    def pick(self, chosen: Indices, shape: tuple[int, int] | None = None) -> TaggedBatch:
        """A batch of some sentences, filled up with empty ones to a shape of (rows, width) if one is given."""
        sentences = self.sentences.pick(chosen, shape)
        tags = pad_rows(self.tags, chosen, shape).tokens
        labels = torch.full((len(tags),), MISSING)
        labels[: len(chosen)] = torch.from_numpy(self.labels[chosen])
        return TaggedBatch(sentences, tags, labels, _targets(sentences, labels), tuple(chosen.tolist()))

    def batches(self, batch_tokens: int) -> Iterator[TaggedBatch]:
        """All sentences once, within a budget, shortest first."""
        return map(self.pick, plan_sentences(self.sentences.lengths, batch_tokens))


def _targets(sentences: Sentences, labels: Int[Tensor, " B"]) -> int:
    return int(sentences.lengths.sum() + (labels != MISSING).sum())
