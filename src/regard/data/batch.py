"""What a model is given: padded token matrices that know their lengths, and batches that know their count."""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.tokens.vocabulary import BEGIN, END, PAD


@dataclass(frozen=True)
class Padded:
    """Sequences of different lengths in one matrix, padded on the right."""

    tokens: Int[Tensor, "B S"]
    lengths: Int[Tensor, " B"]

    @classmethod
    def of(cls, rows: list[list[int]], multiple: int = 1) -> Self:
        """Pads rows to their common width, rounded up to a multiple."""
        longest = max(map(len, rows), default=0)
        width = -(-longest // multiple) * multiple
        tokens = torch.full((len(rows), width), PAD, dtype=torch.long)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = torch.tensor(row, dtype=torch.long)
        return cls(tokens, torch.tensor([len(row) for row in rows], dtype=torch.long))

    @property
    def keep(self) -> Bool[Tensor, "B S"]:
        """True where there is a real token."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths[:, None]

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        return replace(self, tokens=self.tokens[rows], lengths=self.lengths[rows])

    def to(self, device: torch.device) -> Self:
        return replace(self, tokens=self.tokens.to(device), lengths=self.lengths.to(device))


@dataclass(frozen=True)
class PairBatch:
    """Source and target of the same examples.

    `given` is what the decoder reads (BEGIN and the target), `wanted` what it must predict (the target and END).
    """

    source: Padded
    given: Padded
    wanted: Padded
    count: int
    """Number of targets, END included: what a summed loss is divided by."""
    examples: tuple[int, ...]
    """Index of each row in the corpus."""

    @classmethod
    def of(cls, sources: list[list[int]], targets: list[list[int]], examples: list[int]) -> Self:
        """A batch from token lists without special tokens; END is added to the source too, so no source is empty."""
        return cls(
            source=Padded.of([[*row, END] for row in sources]),
            given=Padded.of([[BEGIN, *row] for row in targets]),
            wanted=Padded.of([[*row, END] for row in targets]),
            count=sum(len(row) + 1 for row in targets),
            examples=tuple(examples),
        )

    def rows(self, rank: int, world: int) -> Self:
        """The share of one of `world` processes: every world-th row. It may have no row at all."""
        chosen = torch.arange(rank, len(self.examples), world, device=self.source.tokens.device)
        wanted = self.wanted.select(chosen)
        return replace(
            self,
            source=self.source.select(chosen),
            given=self.given.select(chosen),
            wanted=wanted,
            count=int(wanted.lengths.sum()),
            examples=self.examples[rank::world],
        )

    def to(self, device: torch.device) -> Self:
        return replace(self, source=self.source.to(device), given=self.given.to(device), wanted=self.wanted.to(device))
