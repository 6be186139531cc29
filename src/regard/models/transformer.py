"""A Transformer encoder–decoder (Vaswani et al. 2017)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import POSITIONS, Heads, KeyValueCache, Memory, Position, masks
from regard.data.batch import Padded
from regard.models.generator import Generator, State
from regard.models.readout import LinearReadout
from regard.nn.blocks import DecoderBlock, EncoderBlock
from regard.nn.dropout import LayerDrop, WordDropout
from regard.nn.embedding import TokenEmbedding
from regard.nn.feedforward import FeedForward
from regard.recipe import TransformerModel
from regard.tap import Tap


@dataclass
class TransformerState(State):
    """What the decoder remembers, for each layer: the source as keys and values, and those of the tokens so far.

    `places` rows side by side have one source: there are B = N / places memories.
    """

    memories: list[Memory]
    caches: list[KeyValueCache]
    source_mask: Bool[Tensor, "B 1 1 S"]
    places: int = 1

    @property
    def offset(self) -> int:
        """Number of tokens so far."""
        return self.caches[0].length

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return self.branch(rows[:, None], rows // self.places)

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        memories, mask = self.memories, self.source_mask
        if sources is not None:
            memories, mask = [memory.select(sources) for memory in memories], mask[sources]
        caches = [cache.select(rows.flatten()) for cache in self.caches]
        return type(self)(memories, caches, mask, rows.shape[1])

    def copy(self) -> Self:
        # Nobody writes into memories and masks, so that copies may share them.
        return replace(self, memories=list(self.memories), caches=[cache.copy() for cache in self.caches])


class _Input(nn.Module):
    """Token vectors that know their positions, if it is here that positions enter, with dropout."""

    def __init__(self, settings: TransformerModel, size: int, shared: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(size, settings.width, scale=settings.width**0.5, shared=shared)
        position = _position(settings)
        self.position = position if position.embeds else Position()
        self.words = WordDropout(settings.word_dropout)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, tokens: Int[Tensor, "B T"], offset: int = 0) -> Float[Tensor, "B T E"]:
        # A word that is dropped still stands somewhere.
        words = self.words(self.embedding(tokens), tokens)
        features: Tensor = self.dropout(self.position.embed(words, offset))
        return features


class Encoder(nn.Module):
    """Reads a source; the tap `output` shows what it made of it, "B S E"."""

    def __init__(self, settings: TransformerModel, size: int, shared: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.window = settings.window
        self.input = _Input(settings, size, shared)
        self.layers = nn.ModuleList(
            EncoderBlock(
                _heads(settings, _position(settings)),
                FeedForward(settings.width, settings.feedforward, settings.activation),
                width=settings.width,
                norm=settings.norm,
                dropout=settings.dropout,
            )
            for _ in range(settings.encoder_layers)
        )
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = _last_norm(settings)
        self.output = Tap()

    def forward(self, source: Padded) -> Float[Tensor, "B S E"]:
        width = source.tokens.shape[1]
        near = masks.window(width, size=self.window, device=source.tokens.device) if self.window else None
        mask = masks.combine(masks.padding(source.keep), near)
        stream = self.input(source.tokens)
        for layer in self.layers:
            stream = self.skip(stream, partial(layer, mask=mask))
        result: Tensor = self.output(self.norm(stream))
        return result


class Decoder(nn.Module):
    """Reads the target so far, looking at the source."""

    def __init__(self, settings: TransformerModel, size: int) -> None:
        super().__init__()
        self.window = settings.window
        self.input = _Input(settings, size)
        self.layers = nn.ModuleList(
            DecoderBlock(
                # A window hides later positions by itself.
                _heads(settings, _position(settings), causal=not settings.window),
                _heads(settings),
                FeedForward(settings.width, settings.feedforward, settings.activation),
                width=settings.width,
                norm=settings.norm,
                dropout=settings.dropout,
            )
            for _ in range(settings.decoder_layers)
        )
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = _last_norm(settings)
        self.output = Tap()

    def remember(self, source: Float[Tensor, "B S E"]) -> list[Memory]:
        """The source as keys and values of each layer."""
        return [layer.cross.remember(source) for layer in cast(Iterable[DecoderBlock], self.layers)]

    def forward(self, tokens: Int[Tensor, "N n"], state: TransformerState) -> Float[Tensor, "N n E"]:
        mask = self._mask(tokens.shape[1], state.offset, tokens.device)
        stream = self.input(tokens, state.offset)
        for layer, memory, cache in zip(self.layers, state.memories, state.caches, strict=True):
            block = partial(layer, memory=memory, mask=mask, source_mask=state.source_mask, cache=cache)
            stream = self.skip(stream, block)
        result: Tensor = self.output(self.norm(stream))
        return result

    def _mask(self, count: int, offset: int, device: torch.device) -> Tensor | None:
        """A window, if there is one; that nobody sees later positions is left to the heads."""
        if not self.window:
            return None
        return masks.window(count, offset + count, offset, size=self.window, causal=True, device=device)


class TransformerTranslator(Generator):
    """An encoder, and a decoder that looks at what the encoder made of the source."""

    def __init__(self, settings: TransformerModel, source_size: int, target_size: int) -> None:
        super().__init__()
        self.decoder = Decoder(settings, target_size)
        embedding = self.decoder.input.embedding
        self.encoder = Encoder(settings, source_size, shared=embedding if settings.tie == "all" else None)
        self.readout = LinearReadout(
            settings.width, target_size, shared=embedding if settings.tie != "none" else None, bias=False
        )
        self.cross_taps = tuple(f"decoder.layers.{layer}.cross.weights" for layer in range(settings.decoder_layers))

    def start(self, source: Padded, capacity: int) -> TransformerState:
        memories = self.decoder.remember(self.encoder(source))
        return TransformerState(memories, [KeyValueCache(capacity) for _ in memories], masks.padding(source.keep))

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        assert isinstance(state, TransformerState)
        # The caches grow in place.
        return self.decoder(tokens, state), state


def build(settings: TransformerModel, source_size: int, target_size: int) -> TransformerTranslator:
    """The model of these settings, for vocabularies of these sizes."""
    return TransformerTranslator(settings, source_size, target_size)


def _position(settings: TransformerModel) -> Position:
    return POSITIONS[settings.position](settings.width, settings.heads, longest=settings.longest, clip=settings.clip)


def _heads(settings: TransformerModel, position: Position | None = None, *, causal: bool = False) -> Heads:
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


def _last_norm(settings: TransformerModel) -> nn.Module:
    """Blocks normalized beforehand leave their sum unnormalized."""
    return nn.LayerNorm(settings.width) if settings.norm == "pre" else nn.Identity()
