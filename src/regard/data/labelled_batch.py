"""Batches of texts with labels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.data.batches import Batches
from regard.data.conversations import ConversationBatches, Conversations, TextsInContext, plan_stretches, words_in
from regard.data.fill_rows import Indices
from regard.data.labelled import LabelledText
from regard.data.sentence_batches import Lengths, SentenceBatches, plan_sentences
from regard.data.sentences import NumberedSentences, Sentences
from regard.tokens.rows import Rows
from regard.tokens.tag_set import MISSING, TagSet
from regard.tokens.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class LabelledBatch:
    """Texts with their labels. There may be empty rows after those of the examples, to fill a shape."""

    texts: Sentences | TextsInContext
    labels: Float[Tensor, "B L"]
    """1 for the labels that a text has, 0 for the others."""
    known: Bool[Tensor, " B"]
    """False for texts with a label never seen in training, and for rows that fill a shape."""
    count: int
    """Number of known texts: the normalizer of the summed loss."""
    examples: tuple[int, ...]
    """Index of each row in the corpus; empty rows have none."""

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.labels), device=self.labels.device)[rank::world]
        known = self.known[chosen]
        return replace(
            self,
            texts=self.texts.select(chosen),
            labels=self.labels[chosen],
            known=known,
            count=int(known.sum()),
            examples=self.examples[rank::world],
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The batch with `function` applied to each tensor, always in the same order."""
        return replace(self, texts=self.texts.map(function), labels=function(self.labels), known=function(self.known))

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


@dataclass(frozen=True)
class NumberedLabelled:
    """Many texts with labels as numbers, from which batches are picked."""

    texts: NumberedSentences
    labels: Rows
    size: int
    """Number of different labels."""
    conversations: Conversations | None = None
    """The conversations that texts belong to, if context is read."""

    @classmethod
    def of(cls, texts: Sequence[LabelledText], vocabulary: WordVocabulary, labels: TagSet, reach: int = 0) -> Self:
        """With `reach`, each text comes with up to that many before it in its conversation."""
        words = NumberedSentences.of([text.words for text in texts], vocabulary)
        known = Rows.of(labels.encode(text.labels for text in texts))
        return cls(words, known, len(labels.tags), Conversations(texts, reach) if reach else None)

    @property
    def lengths(self) -> Lengths:
        """Places of each text in a batch: its words, or one of padding."""
        return np.maximum(self.texts.lengths, 1)

    def pick(self, chosen: Indices, shape: tuple[int, int] | None = None) -> LabelledBatch:
        """A batch of some texts, filled up with empty ones to a shape of (rows, width) if one is given."""
        if self.conversations is None:
            texts: Sentences | TextsInContext = self.sentences(chosen, shape)
            count = len(chosen) if shape is None else shape[0]
        else:
            texts, count = self.conversations.in_context(chosen, self.lengths, self.sentences), len(chosen)
        lengths = self.labels.lengths_of(chosen)
        rows = np.repeat(np.arange(len(chosen)), lengths)
        numbers = self.labels.picked(chosen, int(lengths.max(initial=0))).values
        labels, known = np.zeros((count, self.size), np.float32), np.zeros(count, np.bool_)
        known[: len(chosen)] = True
        known[rows[numbers == MISSING]] = False
        labels[rows[numbers != MISSING], numbers[numbers != MISSING]] = 1
        examples = tuple(chosen.tolist())
        return LabelledBatch(texts, torch.from_numpy(labels), torch.from_numpy(known), int(known.sum()), examples)

    def sentences(self, chosen: Indices, shape: tuple[int, int] | None = None) -> Sentences:
        """Some texts without their context."""
        if shape is None and not self.texts.lengths[chosen].any():
            shape = (len(chosen), 1)  # encoders need a place to read
        return self.texts.pick(chosen, shape)

    def batches(self, batch_tokens: int) -> Iterator[LabelledBatch]:
        """All texts once, within a budget: shortest first, or in the order of conversations."""
        if self.conversations is None:
            return map(self.pick, plan_sentences(self.lengths, batch_tokens))
        stretches = self.conversations.stretches
        plan = plan_stretches(words_in(stretches, self.lengths), batch_tokens)
        return (self.pick(np.concatenate([stretches[number] for number in part])) for part in plan)

    def training_batches(self, seed: int, batch_tokens: int, shapes: int) -> Batches[Any, LabelledBatch]:
        """An endless stream of batches of all texts."""
        if self.conversations is None:
            return SentenceBatches(self.lengths, self.pick, seed=seed, batch_tokens=batch_tokens, shapes=shapes)
        return ConversationBatches(self.conversations, self.lengths, self.pick, seed=seed, batch_tokens=batch_tokens)
