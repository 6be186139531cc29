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
    """A residual connection around a part of a block, with layer normalization and dropout.

    `pre` normalizes the input of the part, so that the residual stream itself is never normalized (Xiong et al. 2020);
    `post` normalizes the sum, as in the original.
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
        """`distances` are those of a dependency tree, for `TreeDistance` positions; `cache` holds earlier positions, in
        a decoder without a source."""
        stream = self.around_attention(stream, lambda x: self.attention(x, mask=mask, cache=cache, distances=distances))
        result: Tensor = self.output(self.around_feedforward(stream, self.feedforward))
        return result

    def note(self, stream: Float[Tensor, "B T E"], cache: KeyValueCache) -> None:
        """Appends positions, given the block's input, to a cache without computing their output."""
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
        """`memory` comes from `cross.remember`, or is the source itself; `cache` holds earlier positions."""
        if isinstance(memory, Unprepared):
            memory = self.cross.remember(memory.source)
        look = partial(self.cross.look, memory=memory, mask=source_mask, bias=source_bias)
        stream = self.around_attention(stream, lambda x: self.attention(x, mask=mask, bias=bias, cache=cache))
        stream = self.around_cross(stream, look)
        result: Tensor = self.output(self.around_feedforward(stream, self.feedforward))
        return result
