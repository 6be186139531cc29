"""The Transformer encoder (Vaswani et al. 2017), and the parts that Transformer decoders share with it."""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import POSITIONS, Heads, Position, masks
from regard.data.batch import Padded
from regard.data.packing import Layout, PackedSequences
from regard.device import has_scarce_memory
from regard.models.encoders.encoder import Encoded, Encoder, Input, real_places
from regard.nn.blocks import EncoderBlock
from regard.nn.dropout import Dropout, LayerDrop
from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.nn.feedforward import FeedForward
from regard.recipe import TransformerBlocks, TransformerEncoding
from regard.tap import Tap
from regard.tokens import PAD


class TokenInput(Input):
    """Embedding, plus positions if they are of a kind that is added to embeddings, with dropout."""

    def __init__(self, settings: TransformerBlocks, size: int | None, shared: TokenEmbedding | None = None) -> None:
        dropout = Dropout(settings.dropout)
        super().__init__(size, settings.width, word_dropout=settings.word_dropout, dropout=dropout, shared=shared)
        position = build_position(settings)
        self.position = position if position.embeds else Position()

    def embed(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        # Without positions here, a dropped word becomes padding rather than zeros: normalizing zeros would multiply
        # gradients by hundreds in every layer.
        if not self.words.active or self.position.embeds:
            return super().embed(tokens)
        blank = self.embedding.weight[PAD] * self.embedding.scale
        vectors: Tensor = self.words(self.embedding(tokens), tokens, blank)
        return vectors

    def enter(
        self, vectors: Float[Tensor, "B T E"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        """Adds the positions from `offset` on, or those of `places`."""
        return super().enter(self.position.embed(vectors, offset, places))

    def forward(
        self, tokens: Int[Tensor, "B T"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        return self.enter(self.embed(tokens), offset, places)


AT_ONCE = 1024
"""Source tokens encoded at a time on a CUDA device, without gradients or taps: with more, intermediate results would
take more memory than the features."""


class TransformerEncoder(Encoder):
    """The whole is the mean of the features; the tap `output` shows these, "B S E"."""

    packs = True
    input: TokenInput

    def __init__(
        self, settings: TransformerEncoding, size: int | None = None, shared: TokenEmbedding | None = None
    ) -> None:
        super().__init__()
        self.input_width = self.width = self.final_width = settings.width
        self.window = settings.window
        self.input = TokenInput(settings, size, shared)
        self.layers = build_blocks(settings, settings.layers)
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = last_norm(settings)
        self.output = Tap("row", "source", "feature")
        scale_weights(self, settings.initial_scale)

    def forward(self, source: Padded) -> Encoded:
        rows = self._rows_at_once(source)
        if len(source.tokens) <= rows:
            return super().forward(source)
        parts = zip(torch.split(source.tokens, rows), torch.split(source.lengths, rows), strict=True)
        return Encoded.join(list(map(super().forward, (Padded(*part) for part in parts))))

    def _rows_at_once(self, source: Padded) -> int:
        rows, width = source.tokens.shape
        is_scarce = has_scarce_memory(source.tokens.device) and not isinstance(source, PackedSequences)
        watched = (module.watched for module in self.modules() if isinstance(module, Tap))
        if is_scarce and not torch.is_grad_enabled() and not any(watched):
            return max(AT_ONCE // max(width, 1), 1)
        return rows

    def encode(
        self, vectors: Float[Tensor, "B S I"], lengths: Int[Tensor, " B"], layout: Layout | None = None
    ) -> Encoded:
        keep = real_places(vectors, lengths)
        near = masks.window(vectors.shape[1], size=self.window, device=vectors.device) if self.window else None
        seen = masks.padding(keep) if layout is None else masks.same(layout.sequence, layout.sequence)
        mask = masks.combine(seen, near)
        stream = self.input.enter(vectors, places=None if layout is None else layout.place)
        for layer in self.layers:
            stream = self.skip(stream, partial(layer, mask=mask))
        return Encoded.mean(self.output(self.norm(stream)), keep)


def build_position(settings: TransformerBlocks) -> Position:
    """The position encoding of self-attention."""
    return POSITIONS[settings.position](settings.width, settings.heads, longest=settings.longest, clip=settings.clip)


def build_blocks(settings: TransformerBlocks, count: int, *, causal: bool = False) -> nn.ModuleList:
    """Blocks of self-attention and a feed-forward layer."""
    return nn.ModuleList(
        EncoderBlock(
            build_heads(settings, build_position(settings), causal=causal),
            FeedForward(settings.width, settings.feedforward, settings.activation),
            width=settings.width,
            norm=settings.norm,
            dropout=settings.dropout,
        )
        for _ in range(count)
    )


def build_heads(settings: TransformerBlocks, position: Position | None = None, *, causal: bool = False) -> Heads:
    """The attention of a block; ignores positions that are added to embeddings."""
    return Heads(
        settings.width,
        settings.heads,
        groups=settings.groups,
        score=settings.score,
        normalizer=settings.normalizer,
        position=None if position is None or position.embeds else position,
        causal=causal,
        dropout=settings.attention_dropout,
    )


@torch.no_grad()
def scale_weights(model: nn.Module, factor: float) -> None:
    """Multiplies the initial weights of linear maps and embeddings by a factor; leaves biases, gains, positions and the
    parameters of scores unchanged."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.mul_(factor)
        elif isinstance(module, TokenVectors) and module.owns:
            module.vectors.mul_(factor)


def last_norm(settings: TransformerBlocks) -> nn.Module:
    """Pre-norm blocks leave their output unnormalized."""
    return nn.LayerNorm(settings.width) if settings.norm == "pre" else nn.Identity()
