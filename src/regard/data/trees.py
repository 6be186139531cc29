"""Batches of sentences with their trees, for training a parser."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.data.sentences import Sentences

UNSEEN = -1
"""A relation that does not occur in the training text."""


@dataclass(frozen=True)
class TreeBatch:
    """A batch of sentences with the head and the relation of each word; arbitrary at padding."""

    sentences: Sentences
    heads: Int[Tensor, "B S"]
    """In the numbers of CoNLL-U: 0 for the root, n for the n-th word."""
    relations: Int[Tensor, "B S"]
    """By number, or UNSEEN."""
    count: int
    """Words."""

    @property
    def keep(self) -> Bool[Tensor, "B S"]:
        return self.sentences.keep

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(len(self.heads), device=self.heads.device)[rank::world]
        sentences = self.sentences.select(chosen)
        count = int(sentences.lengths.sum())
        return replace(
            self, sentences=sentences, heads=self.heads[chosen], relations=self.relations[chosen], count=count
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(
            self,
            sentences=self.sentences.map(function),
            heads=function(self.heads),
            relations=function(self.relations),
        )
