"""What every encoder has: it reads a sequence, and gives one vector for each place and one for the whole.

    encoder = build_encoder(WindowEncoding(kind="window"), size)
    encoded = encoder(source)                                   # tokens
    encoded = encoder.encode(vectors, lengths)                  # or vectors, whatever they were made of

Padding changes nothing, and rows do not influence each other; the conformance tests hold every encoder of
`regard.models.ENCODERS` to that.
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
    """What an encoder made of B sequences. Features at padding are arbitrary."""

    features: Float[Tensor, "B S E"]
    keep: Bool[Tensor, "B S"]
    """True where there is a real place."""
    final: Float[Tensor, "B F"]
    """Each sequence as a whole; of rows that hold several sequences, each row."""
    states: tuple[Float[Tensor, "B _"], ...] = ()
    """The last state of each layer, lowest first, if it has layers with states."""

    @property
    def starts(self) -> tuple[Float[Tensor, "B _"], ...]:
        """What the layers of a recurrent decoder start from, lowest first."""
        return self.states or (self.final,)

    @classmethod
    def mean(cls, features: Float[Tensor, "B S E"], keep: Bool[Tensor, "B S"]) -> Self:
        """With the mean over real places for the whole; zeros where there is none."""
        shares = keep / keep.sum(1, keepdim=True).clamp_min(1)
        return cls(features, keep, torch.bmm(shares.unsqueeze(1).to(features.dtype), features).squeeze(1))

    @classmethod
    def join(cls, parts: "Sequence[Encoded]") -> Self:
        """The rows of all parts, one after another."""
        features, keep, final = (
            torch.cat([getattr(part, name) for part in parts]) for name in ("features", "keep", "final")
        )
        return cls(features, keep, final, tuple(map(torch.cat, zip(*(part.states for part in parts), strict=True))))


class Input(nn.Module):
    """Vectors of tokens (`embed`), and what vectors pass before they are read, whatever they were made of (`enter`).

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
            # Features of variance one, whatever the width: smaller ones take a cell long to tell apart.
            self.embedding = TokenEmbedding(size, width, scale=width**0.5 if scale is None else scale, shared=shared)
        self.words = WordDropout(word_dropout)
        self.dropout = dropout

    def embed(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        """The vectors of tokens, some words of them dropped."""
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
    """What comes first: vectors of tokens, dropout, positions."""
    input_width: int
    """Width of the vectors it reads."""
    width: int
    """Width of its features."""
    final_width: int
    """Width of what it makes of a whole sequence."""
    packs: bool = False
    """Whether it keeps several sequences in one row apart."""

    @property
    def start_widths(self) -> tuple[int, ...]:
        """Widths of `Encoded.starts`."""
        return (self.final_width,)

    def forward(self, source: Padded) -> Encoded:
        layout = source.own if isinstance(source, PackedSequences) else None
        if layout is not None and not self.packs:
            raise UsageError("this encoder cannot keep several sequences in a row apart; give each a row of its own")
        return self.encode(self.input.embed(source.tokens), source.lengths, layout)

    @abstractmethod
    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        """The same for vectors in the place of tokens; `layout` says which sequence of its row each place belongs to,
        where rows hold several (`packs`)."""


def real_places(vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"]) -> Bool[Tensor, "B S"]:
    """True where there is a real place."""
    return torch.arange(vectors.shape[1], device=vectors.device) < lengths[:, None]
