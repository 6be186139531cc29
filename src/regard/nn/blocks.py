"""Transformer blocks (Vaswani et al. 2017), normalized before each part or after each sum."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Heads, KeyValueCache, Memory, SharedCache, Unprepared
from regard.device import has_kernels, has_loops
from regard.nn.dropout import Dropout
from regard.nn.feedforward import FeedForward
from regard.tap import Tap, name_axes

FORMATS = (torch.float32, torch.bfloat16, torch.float16)
"""Number formats that the kernels read."""


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
        elif stream.is_cpu:
            result = add_norm(stream, self.dropout(part(stream)), self.norm)[1]
        else:
            result = self.norm(stream + self.dropout(part(stream)))
        return result

    def ahead(
        self, stream: Float[Tensor, "B T E"], added: Float[Tensor, "B T E"] | None, part: Callable[[Tensor], Tensor]
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T E"]]:
        """The same of `stream` + `added`, before the sum: whoever comes next takes it in one with its own norm."""
        assert self.before
        stream, given = add_norm(stream, added, self.norm)
        return stream, self.dropout(part(given))


def add_norm(
    stream: Float[Tensor, "*rows E"], added: Float[Tensor, "*rows E"] | None, norm: nn.LayerNorm
) -> tuple[Float[Tensor, "*rows E"], Float[Tensor, "*rows E"]]:
    """The sum of both, and that normalized; without gradients in one kernel, on CUDA devices with Triton, or in one
    loop, on CPUs."""
    if added is None:
        return stream, norm(stream)
    weight, bias = norm.weight, norm.bias
    # They take memory as it lies: what torch would convert, broadcast or refuse is left to it.
    alike = bias is not None and stream.dtype == added.dtype == weight.dtype and stream.shape == added.shape
    if alike and stream.shape[-1:] == weight.shape and stream.is_contiguous() and added.is_contiguous():
        if has_loop(stream):
            from regard.nn import loops

            return loops.add_norm(stream, added, weight, bias, norm.eps)
        if has_kernels(stream) and stream.dtype in FORMATS:
            from regard.nn import kernels

            return kernels.add_norm(stream, added, weight, bias, norm.eps)
    stream = stream + added
    return stream, norm(stream)


def has_loop(stream: Float[Tensor, "*rows E"]) -> bool:
    """Whether a sum and its norm are one loop: of 32 bits."""
    return stream.dtype == torch.float32 and has_loops(stream)


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
        look = {"mask": mask, "bias": bias, "source_mask": source_mask, "source_bias": source_bias}
        for around, part in self.parts(memory, cache=cache, **look):
            stream = around(stream, part)
        result: Tensor = self.output(stream)
        return result

    def parts(
        self,
        memory: Memory | Unprepared,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        source_mask: Tensor | None = None,
        source_bias: Tensor | None = None,
        cache: KeyValueCache | SharedCache | None = None,
    ) -> list[tuple[Residual, Callable[[Tensor], Tensor]]]:
        """Each part of the block, and what stands around it: for those who go through them by `Residual.ahead`, which
        leaves the last sum, and with it the tap, to whoever comes next."""
        if isinstance(memory, Unprepared):
            memory = self.cross.remember(memory.source)
        return [
            (self.around_attention, lambda x: self.attention(x, mask=mask, bias=bias, cache=cache)),
            (self.around_cross, partial(self.cross.look, memory=memory, mask=source_mask, bias=source_bias)),
            (self.around_feedforward, self.feedforward),
        ]
