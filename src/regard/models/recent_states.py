"""The last positions that a language model has read: their vectors and words."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.attention import masks
from regard.tokens.vocabulary import PAD


@dataclass(frozen=True)
class Recent:
    """K positions of each row, the newest last. Those whose word is PAD are padding and not visible."""

    vectors: Float[Tensor, "N K E"]
    words: Int[Tensor, "N K"]

    @classmethod
    def none(cls, rows: int, width: int, like: Tensor, length: int = 0) -> Self:
        """`length` positions of padding, with the device and dtype of `like`."""
        words = torch.full((rows, length), PAD, device=like.device)
        return cls(like.new_zeros(rows, length, width), words)

    def join(self, vectors: Float[Tensor, "N n E"], words: Int[Tensor, "N n"]) -> Self:
        """Appends n positions."""
        return type(self)(torch.cat([self.vectors.to(vectors.dtype), vectors], 1), torch.cat([self.words, words], 1))

    def last(self, reach: int) -> Self:
        """The newest positions, `reach` at most."""
        first = max(self.words.shape[1] - reach, 0)
        return type(self)(self.vectors[:, first:], self.words[:, first:])

    def exactly(self, reach: int) -> Self:
        """The newest `reach` positions, padded on the left."""
        kept = self.last(reach)
        missing = reach - kept.words.shape[1]
        return type(self)(F.pad(kept.vectors, (0, 0, missing, 0)), F.pad(kept.words, (missing, 0), value=PAD))

    def visible(self, queries: int, reach: int, *, itself: bool) -> Bool[Tensor, "N 1 n K"]:
        """The mask of the last `queries` positions: each sees `reach` positions, up to itself if `itself`, else up to
        the one before."""
        count = self.words.shape[1]
        first = count - queries if itself else count - queries - 1
        near = masks.window(queries, count, first, size=reach - 1, causal=True, device=self.words.device)
        return near & masks.padding(self.words != PAD)

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)(self.vectors.index_select(0, rows), self.words.index_select(0, rows))
