"""The encoder interface: a sequence to one vector per position and one for the whole.

    encoder = build_encoder(WindowEncoding(kind="window"), size)
    encoded = encoder(source)                                   # tokens
    encoded = encoder.encode(vectors, lengths)                  # or any vectors

Padding changes nothing, and rows are independent; the conformance tests check every encoder of
`regard.models.ENCODERS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.data.packing import Layout, PackedSequences
from regard.errors import UsageError
from regard.nn.dropout import WordDropout
from regard.nn.embedding import TokenEmbedding


@dataclass(frozen=True)
class Encoded:
    """B encoded sequences. Features at padding are arbitrary."""

    features: Float[Tensor, "B S E"]
    keep: Bool[Tensor, "B S"]
    """False at padding."""
    final: Float[Tensor, "B F"]
    """Each row as a whole."""
    states: tuple[Float[Tensor, "B _"], ...] = ()
    """The last state of each recurrent layer, lowest first."""

    @property
    def starts(self) -> tuple[Float[Tensor, "B _"], ...]:
        """Initial states for the layers of a recurrent decoder, lowest first."""
        return self.states or (self.final,)

    @classmethod
    def mean(cls, features: Float[Tensor, "B S E"], keep: Bool[Tensor, "B S"]) -> Self:
        """With the mean of the features, padding excluded, for the whole; zeros for an empty sequence."""
        shares = keep / keep.sum(1, keepdim=True).clamp_min(1)
        return cls(features, keep, torch.bmm(shares.unsqueeze(1).to(features.dtype), features).squeeze(1))

    @classmethod
    def join(cls, parts: "Sequence[Encoded]") -> Self:
        """The rows of all parts, concatenated."""
        features, keep, final = (
            torch.cat([getattr(part, name) for part in parts]) for name in ("features", "keep", "final")
        )
        return cls(features, keep, final, tuple(map(torch.cat, zip(*(part.states for part in parts), strict=True))))


class Input(nn.Module):
    """Embeds tokens (`embed`), and applies dropout and the like to any vectors (`enter`).

    Without a vocabulary size there is no embedding, and only vectors can be read.
    """

    embedding: TokenEmbedding

    def __init__(
        self,
        size: int | None,
        width: int,
        *,
        scale: float | None = None,
        word_dropout: float = 0.0,
        dropout: nn.Module,
        shared: TokenEmbedding | None = None,
    ) -> None:
        super().__init__()
        if size is not None:
            # Features of variance one for any width: with smaller ones, a cell learns slowly.
            self.embedding = TokenEmbedding(size, width, scale=width**0.5 if scale is None else scale, shared=shared)
        self.words = WordDropout(word_dropout)
        self.dropout = dropout

    def embed(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        """The vectors of tokens, after word dropout."""
        if not hasattr(self, "embedding"):
            raise UsageError("this encoder was built without a vocabulary, for vectors; call its encode(vectors, …)")
        vectors: Tensor = self.words(self.embedding(tokens), tokens)
        return vectors

    def enter(self, vectors: Float[Tensor, "B T E"]) -> Float[Tensor, "B T E"]:
        entered: Tensor = self.dropout(vectors)
        return entered

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        return self.enter(self.embed(tokens))


class Encoder(nn.Module, ABC):
    """Reads sequences of tokens or vectors."""

    input: Input
    """Embedding, dropout, positions."""
    input_width: int
    """Width of the vectors it reads."""
    width: int
    """Width of its features."""
    final_width: int
    """Width of `Encoded.final`."""
    packs: bool = False
    """Whether it supports several sequences packed into a row."""

    @property
    def start_widths(self) -> tuple[int, ...]:
        """Widths of `Encoded.starts`."""
        return (self.final_width,)

    def forward(self, source: Padded) -> Encoded:
        layout = source.own if isinstance(source, PackedSequences) else None
        if layout is not None and not self.packs:
            raise UsageError("this encoder does not support several sequences in a row; give each a separate row")
        return self.encode(self.input.embed(source.tokens), source.lengths, layout)

    @abstractmethod
    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        """Encodes vectors instead of tokens; `layout` assigns positions to the sequences packed into a row."""


def real_places(vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]) -> Bool[Tensor, "B S"]:
    """False at padding."""
    return torch.arange(vectors.shape[1], device=vectors.device) < lengths[:, None]
