"""Transformer blocks (Vaswani et al. 2017), normalized before each part or after each sum."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Heads, KeyValueCache, Memory, SharedCache, Unprepared
from regard.nn.dropout import Dropout
from regard.nn.feedforward import FeedForward
from regard.tap import Tap, name_axes


class Residual(nn.Module):
    """What stands around each part of a block: a sum with what went in, layer normalization, dropout.

    `pre` normalizes what the part is given, so that the sum of all parts runs through the model untouched (Xiong et
    al. 2020); `post` normalizes the sum, as the original does.
    """

    def __init__(self, width: int, norm: Literal["pre", "post"], dropout: float) -> None:
        super().__init__()
        self.before = norm == "pre"
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, stream: Float[Tensor, "B T E"], part: Callable[[Tensor], Tensor]) -> Float[Tensor, "B T E"]:
        if self.before:
            result: Tensor = stream + self.dropout(part(self.norm(stream)))
        else:
            result = self.norm(stream + self.dropout(part(stream)))
        return result


class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward layer. The tap `output` shows the residual stream after them, "B T E"."""

    def __init__(
        self, attention: Heads, feedforward: FeedForward, *, width: int, norm: Literal["pre", "post"], dropout: float
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.around_attention = Residual(width, norm, dropout)
        self.around_feedforward = Residual(width, norm, dropout)
        self.output = Tap("row", "step", "feature")

    def forward(
        self,
        stream: Float[Tensor, "B T E"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        distances: Int[Tensor, "B T T"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T E"]:
        """`distances` are those between words of a tree, for heads whose position is `TreeDistance`; `cache` holds the
        positions before these, in a decoder without a source."""
        stream = self.around_attention(stream, lambda x: self.attention(x, mask=mask, cache=cache, distances=distances))
        result: Tensor = self.output(self.around_feedforward(stream, self.feedforward))
        return result

    def note(self, stream: Float[Tensor, "B T E"], cache: KeyValueCache) -> None:
        """Puts positions into a cache for later ones to see, given what this block was given there."""
        around = self.around_attention
        self.attention.note(around.norm(stream) if around.before else stream, cache)


class DecoderBlock(nn.Module):
    """Self-attention, attention to a source, and a feed-forward layer, with the same tap as an encoder block."""

    def __init__(
        self,
        attention: Heads,
        cross: Heads,
        feedforward: FeedForward,
        *,
        width: int,
        norm: Literal["pre", "post"],
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention, self.cross, self.feedforward = attention, cross, feedforward
        self.around_attention = Residual(width, norm, dropout)
        self.around_cross = Residual(width, norm, dropout)
        self.around_feedforward = Residual(width, norm, dropout)
        self.output = Tap("row", "step", "feature")
        name_axes(cross, key="source")

    def forward(
        self,
        stream: Float[Tensor, "N n E"],
        memory: Memory | Unprepared,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        source_mask: Bool[Tensor, "..."] | None = None,
        source_bias: Float[Tensor, "..."] | None = None,
        cache: KeyValueCache | SharedCache | None = None,
    ) -> Float[Tensor, "N n E"]:
        """`memory` is what `cross.remember` made of the source, or is to make of it; `cache` holds the positions before
        these."""
        if isinstance(memory, Unprepared):
            memory = self.cross.remember(memory.source)
        look = partial(self.cross.look, memory=memory, mask=source_mask, bias=source_bias)
        stream = self.around_attention(stream, lambda x: self.attention(x, mask=mask, bias=bias, cache=cache))
        stream = self.around_cross(stream, look)
        result: Tensor = self.output(self.around_feedforward(stream, self.feedforward))
        return result
