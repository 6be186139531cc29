"""A Transformer encoder–decoder (Vaswani et al. 2017)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import POSITIONS, Heads, KeyValueCache, Lineage, Memory, Position, SharedCache, Unprepared, masks
from regard.data.batch import Padded
from regard.data.packing import Layout, Packed
from regard.device import has_kernels, has_scarce_memory
from regard.models.copying import CopyGate, CopyReadout, Pointer, known_tokens, words_of
from regard.models.generator import Generator, Readout, State
from regard.models.readout import LinearReadout
from regard.nn.blocks import DecoderBlock, EncoderBlock, add_norm, has_loop
from regard.nn.dropout import Dropout, LayerDrop, WordDropout
from regard.nn.embedding import TokenEmbedding, TokenVectors
from regard.nn.feedforward import FeedForward
from regard.recipe import TransformerBlocks, TransformerModel
from regard.tap import Tap
from regard.tokens import PAD


@dataclass(frozen=True)
class Copyable:
    """What can be copied from each of B sources, and the keys by which it is found."""

    words: Int[Tensor, "B S"]
    keys: Float[Tensor, "B S E"]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)(self.words[rows], self.keys[rows])


@dataclass
class TransformerState(State):
    """What the decoder remembers, for each layer: the source as keys and values, and those of the tokens so far.

    `places` rows side by side have one source: there are B = N / places memories.
    """

    memories: Sequence[Memory | Unprepared]
    caches: Sequence[KeyValueCache | SharedCache]
    source_mask: Bool[Tensor, "B 1 #n S"]
    places: int = 1
    lineage: Lineage | None = None
    """Who wrote what is in the caches, if the rows of a source share them."""
    copyable: Copyable | None = None
    layout: Layout | None = None
    """How targets stand that share a row; they are then read at once."""

    @property
    def offset(self) -> int:
        """Number of tokens so far."""
        return self.caches[0].length

    def room(self, count: int) -> Sequence[KeyValueCache | SharedCache | None]:
        """Where each layer keeps so many more tokens; nowhere, if they are all there will ever be, as in training."""
        if self.lineage is not None or self.offset or count != self.caches[0].capacity:
            return self.caches
        for cache in self.caches:
            cache.length = count
        return [None] * len(self.caches)

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return self.branch(rows[:, None], rows // self.places)

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        before, places = self.places, rows.shape[1]
        # Before what belongs to the sources is chosen, which consumes what is shared.
        apart = self.apart() if places != before else self
        state = self if sources is None else self._of(sources)
        if state.lineage is not None and places == before:
            # What was written stays where it is.
            return replace(state, lineage=state.lineage.branch(rows, self.offset))
        if before == 1 and places > 1 and not torch.is_grad_enabled():
            of_sources = self.caches if sources is None else [cache.select(sources) for cache in self.caches]
            caches = [SharedCache.of(cast(KeyValueCache, cache), places) for cache in of_sources]
            lineage = Lineage.own(len(rows), places, caches[0].capacity, rows.device)
            return replace(state, caches=caches, places=places, lineage=lineage)
        own = [cache.select(rows.flatten()) for cache in apart.caches]
        return replace(state, caches=own, places=places, lineage=None)

    def apart(self) -> Self:
        """The same, with caches that are each row's own."""
        if self.lineage is None:
            return self
        caches = [cache.apart(self.lineage) for cache in cast(Sequence[SharedCache], self.caches)]
        return replace(self, caches=caches, lineage=None)

    def _of(self, sources: Int[Tensor, " M"]) -> Self:
        """What belongs to these sources, and not to single rows."""
        state = replace(
            self,
            memories=[memory.select(sources) for memory in self.memories],
            source_mask=self.source_mask[sources],
            copyable=None if self.copyable is None else self.copyable.select(sources),
        )
        if self.lineage is not None:
            state.caches = [cache.select(sources) for cache in cast(Sequence[SharedCache], self.caches)]
            state.lineage = self.lineage.select(sources)
        return state

    def copy(self) -> Self:
        # Nobody writes into masks, so that copies may share them.
        lineage = None if self.lineage is None else self.lineage.copy()
        memories, caches = [memory.copy() for memory in self.memories], [cache.copy() for cache in self.caches]
        return replace(self, memories=memories, caches=caches, lineage=lineage)


class TokenInput(nn.Module):
    """Token vectors that know their positions, if it is here that positions enter, with dropout."""

    def __init__(self, settings: TransformerBlocks, size: int, shared: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(size, settings.width, scale=settings.width**0.5, shared=shared)
        position = build_position(settings)
        self.position = position if position.embeds else Position()
        self.words = WordDropout(settings.word_dropout)
        self.dropout = Dropout(settings.dropout)

    def forward(
        self, tokens: Int[Tensor, "B T"], offset: int = 0, places: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T E"]:
        # A word that is dropped still stands somewhere. Where positions do not enter here it is padding that does:
        # normalizing zeros would multiply gradients by hundreds in every layer.
        blank = None
        if self.words.active and not self.position.embeds:
            blank = self.embedding.weight[PAD] * self.embedding.scale
        words = self.words(self.embedding(tokens), tokens, blank)
        features: Tensor = self.dropout(self.position.embed(words, offset, places))
        return features


AT_ONCE = 1024
"""Tokens of sources that are encoded at a time on a CUDA device where nobody learns or looks on: for more of them, what
is computed on the way would take more memory than what comes of it."""


class Encoder(nn.Module):
    """Reads a source; the tap `output` shows what it made of it, "B S E"."""

    def __init__(self, settings: TransformerModel, size: int, shared: TokenEmbedding | None = None) -> None:
        super().__init__()
        self.window = settings.window
        self.input = TokenInput(settings, size, shared)
        self.layers = build_blocks(settings, settings.encoder_layers)
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = last_norm(settings)
        self.output = Tap()

    def forward(self, source: Padded) -> Float[Tensor, "B S E"]:
        rows = self._rows_at_once(source)
        if len(source.tokens) <= rows:
            return self._encode(source)
        parts = zip(torch.split(source.tokens, rows), torch.split(source.lengths, rows), strict=True)
        return torch.cat([self._encode(Padded(*part)) for part in parts])

    def _rows_at_once(self, source: Padded) -> int:
        rows, width = source.tokens.shape
        scarce = has_scarce_memory(source.tokens.device) and not isinstance(source, Packed)
        watched = (module.watched for module in self.modules() if isinstance(module, Tap))
        return max(AT_ONCE // max(width, 1), 1) if scarce and not torch.is_grad_enabled() and not any(watched) else rows

    def _encode(self, source: Padded) -> Float[Tensor, "B S E"]:
        width = source.tokens.shape[1]
        near = masks.window(width, size=self.window, device=source.tokens.device) if self.window else None
        alike = masks.same(source.own.sequence, source.own.sequence) if isinstance(source, Packed) else None
        mask = masks.combine(masks.padding(source.keep) if alike is None else alike, near)
        stream = self.input(source.tokens, places=source.own.place if isinstance(source, Packed) else None)
        for layer in self.layers:
            stream = self.skip(stream, partial(layer, mask=mask))
        result: Tensor = self.output(self.norm(stream))
        return result


class Decoder(nn.Module):
    """Reads the target so far, looking at the source."""

    def __init__(self, settings: TransformerModel, size: int) -> None:
        super().__init__()
        self.window = settings.window
        self.input = TokenInput(settings, size)
        self.layers = nn.ModuleList(
            DecoderBlock(
                # A window hides later positions by itself.
                build_heads(settings, build_position(settings), causal=not settings.window),
                build_heads(settings),
                FeedForward(settings.width, settings.feedforward, settings.activation),
                width=settings.width,
                norm=settings.norm,
                dropout=settings.dropout,
            )
            for _ in range(settings.decoder_layers)
        )
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = last_norm(settings)
        self.output = Tap()

    def remember(self, source: Float[Tensor, "B S E"]) -> Sequence[Memory | Unprepared]:
        """The source as keys and values of each layer; in training each layer makes them when it looks."""
        if self.training and torch.is_grad_enabled():
            return [Unprepared(source)] * len(self.layers)
        return [layer.cross.remember(source).put() for layer in cast(Iterable[DecoderBlock], self.layers)]

    def forward(self, tokens: Int[Tensor, "N n"], state: TransformerState) -> Float[Tensor, "N n E"]:
        stream = self.input(tokens, state.offset, None if state.layout is None else state.layout.place)
        look = self._look(stream, state)
        held = zip(cast(Iterable[DecoderBlock], self.layers), state.memories, state.room(tokens.shape[1]), strict=True)
        if self._looks_ahead(stream):
            added: Tensor | None = None
            for layer, memory, cache in held:
                for around, part in layer.parts(memory, cache=cache, **look):
                    stream, added = around.ahead(stream, added, part)
            stream = add_norm(stream, added, cast(nn.LayerNorm, self.norm))[1]
        else:
            for layer, memory, cache in held:
                stream = self.skip(stream, partial(layer, memory=memory, cache=cache, **look))
            stream = self.norm(stream)
        result: Tensor = self.output(stream)
        return result

    def _looks_ahead(self, stream: Float[Tensor, "N n E"]) -> bool:
        """Whether each sum is left to the norm that follows, with which it is one kernel, or one loop."""
        layers = cast(Iterable[DecoderBlock], self.layers)
        quiet = not self.training and not any(layer.output.watched for layer in layers)
        return quiet and isinstance(self.norm, nn.LayerNorm) and (has_kernels(stream) or has_loop(stream))

    @property
    def watched(self) -> bool:
        """Whether somebody looks at what the heads do."""
        layers = cast(Iterable[DecoderBlock], self.layers)
        return any(layer.attention.watched or layer.cross.watched for layer in layers)

    def _look(self, stream: Float[Tensor, "N n E"], state: TransformerState) -> dict[str, Tensor | None]:
        """The masks and biases of every layer."""
        count, offset = stream.shape[1], state.offset
        alike = None if state.layout is None else masks.same(state.layout.sequence, state.layout.sequence)
        mask = masks.combine(self._mask(count, offset, stream.device), alike)
        look = {"mask": mask, "source_mask": state.source_mask}
        if not (torch.is_grad_enabled() or self.watched):
            # Once for all layers, what each would make of the mask.
            look |= {"source_mask": None, "source_bias": masks.additive(state.source_mask, stream.dtype)}
        if state.lineage is not None:
            mask = look["mask"]
            look["mask"] = None if mask is None else mask.repeat_interleave(state.places, -1)
            look["bias"] = state.lineage.bias(offset + count, stream.dtype)
        return look

    def _mask(self, count: int, offset: int, device: torch.device) -> Tensor | None:
        """A window, if there is one; that nobody sees later positions is left to the heads."""
        if not self.window:
            return None
        return masks.window(count, offset + count, offset, size=self.window, causal=True, device=device)


class TransformerTranslator(Generator):
    """An encoder, and a decoder that looks at what the encoder made of the source.

    To copy words it has one more head, above the decoder, that looks for them: the heads of its blocks have other
    things to do, and keep their fast kernels.
    """

    def __init__(self, settings: TransformerModel, source_size: int, target_size: int) -> None:
        super().__init__()
        self.decoder = Decoder(settings, target_size)
        embedding = self.decoder.input.embedding
        self.encoder = Encoder(settings, source_size, shared=embedding if settings.tie == "all" else None)
        self.readout = LinearReadout(
            settings.width, target_size, shared=embedding if settings.tie != "none" else None, bias=False
        )
        self.cross_taps = tuple(f"decoder.layers.{layer}.cross.weights" for layer in range(settings.decoder_layers))
        self.copies = settings.copying
        if settings.copying:
            self.pointer, self.gate = Pointer(settings.width), CopyGate(settings.width)
            self.cross_taps += ("pointer.weights",)
        scale_weights(self, settings.initial_scale)

    def start(self, source: Padded, capacity: int) -> TransformerState:
        encoded = self.encoder(source)
        memories = self.decoder.remember(encoded)
        copyable = Copyable(words_of(source), self.pointer.keys(encoded)) if self.copies else None
        # Most outputs are about as long as their sources.
        caches = [KeyValueCache(capacity, expected=source.tokens.shape[1]) for _ in memories]
        if isinstance(source, Packed):
            mask = masks.same(source.target.sequence, source.own.sequence)
            return TransformerState(memories, caches, mask, copyable=copyable, layout=source.target)
        return TransformerState(memories, caches, masks.padding(source.keep), copyable=copyable)

    def advance(self, tokens: Int[Tensor, "N n"], state: State) -> tuple[Float[Tensor, "N n E"], State]:
        assert isinstance(state, TransformerState)
        # The caches grow in place.
        if state.copyable is None:
            return self.decoder(tokens, state), state
        hidden = self.decoder(known_tokens(tokens, self.readout.size), state)
        return self.gate(hidden, self.pointer(hidden, state.copyable.keys, state.source_mask)), state

    def readout_of(self, state: State) -> Readout:
        assert isinstance(state, TransformerState)
        if state.copyable is None:
            return self.readout
        return CopyReadout.of(self.readout, state.copyable.words, state.places)


def build(settings: TransformerModel, source_size: int, target_size: int) -> TransformerTranslator:
    """The model of these settings, for vocabularies of these sizes."""
    return TransformerTranslator(settings, source_size, target_size)


def build_position(settings: TransformerBlocks) -> Position:
    """How self-attention knows order."""
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
    """Attention of a block; positions that act on embeddings have no say in it."""
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
    """Fresh weights of linear maps and vectors of tokens, times a factor. All else stays: biases, gains, positions, and
    what scores learn of their own."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.mul_(factor)
        elif isinstance(module, TokenVectors) and module.owns:
            module.vectors.mul_(factor)


def last_norm(settings: TransformerBlocks) -> nn.Module:
    """Blocks normalized beforehand leave their sum unnormalized."""
    return nn.LayerNorm(settings.width) if settings.norm == "pre" else nn.Identity()
