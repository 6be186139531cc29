"""A Transformer encoder–decoder (Vaswani et al. 2017)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import KeyValueCache, Lineage, Memory, SharedCache, Unprepared, masks
from regard.data.batch import Padded
from regard.data.packing import Layout, PackedSequences
from regard.models.copying import CopyGate, CopyReadout, Pointer, known_tokens, words_of
from regard.models.encoders import build_encoder
from regard.models.encoders.transformer import TokenInput, build_heads, build_position, last_norm, scale_weights
from regard.models.generator import Generator, Readout, State
from regard.models.readout import LinearReadout
from regard.nn.blocks import DecoderBlock
from regard.nn.dropout import LayerDrop
from regard.nn.feedforward import FeedForward
from regard.recipe import TransformerModel
from regard.tap import Tap, name_axes


@dataclass(frozen=True)
class Copyable:
    """The words that can be copied from each of B sources, and their keys."""

    words: Int[Tensor, "B S"]
    keys: Float[Tensor, "B S E"]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)(self.words[rows], self.keys[rows])


@dataclass
class TransformerState(State):
    """For each layer, the keys and values of the source and of the tokens so far.

    `places` adjacent rows have the same source: there are B = N / places memories.
    """

    memories: Sequence[Memory | Unprepared]
    caches: Sequence[KeyValueCache | SharedCache]
    source_mask: Bool[Tensor, "B 1 #n S"]
    places: int = 1
    lineage: Lineage | None = None
    """Which row wrote which cache entry, if the rows of a source share caches."""
    copyable: Copyable | None = None
    layout: Layout | None = None
    """Positions of targets that are packed into rows; these are read in one call."""

    @property
    def offset(self) -> int:
        """Number of tokens so far."""
        return self.caches[0].length

    def caches_for(self, count: int) -> Sequence[KeyValueCache | SharedCache | None]:
        """The caches for `count` more tokens; None if these are all tokens, as in training."""
        if self.lineage is not None or self.offset or count != self.caches[0].capacity:
            return self.caches
        for cache in self.caches:
            cache.length = count
        return [None] * len(self.caches)

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return self.branch(rows[:, None], rows // self.places)

    def branch(self, rows: Int[Tensor, "M places"], sources: Int[Tensor, " M"] | None = None) -> Self:
        before, places = self.places, rows.shape[1]
        # Before sources are selected, which consumes shared caches.
        apart = self.apart() if places != before else self
        state = self if sources is None else self._of(sources)
        if state.lineage is not None and places == before:
            # The caches themselves are unchanged.
            return replace(state, lineage=state.lineage.branch(rows, self.offset))
        if before == 1 and places > 1 and not torch.is_grad_enabled():
            of_sources = self.caches if sources is None else [cache.select(sources) for cache in self.caches]
            caches = [SharedCache.of(cast(KeyValueCache, cache), places) for cache in of_sources]
            lineage = Lineage.own(len(rows), places, caches[0].capacity, rows.device)
            return replace(state, caches=caches, places=places, lineage=lineage)
        own = [cache.select(rows.flatten()) for cache in apart.caches]
        return replace(state, caches=own, places=places, lineage=None)

    def apart(self) -> Self:
        """The same, with a separate cache for each row."""
        if self.lineage is None:
            return self
        caches = [cache.apart(self.lineage) for cache in cast(Sequence[SharedCache], self.caches)]
        return replace(self, caches=caches, lineage=None)

    def _of(self, sources: Int[Tensor, " M"]) -> Self:
        """The state with everything that belongs to sources, not rows, selected."""
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
        # Masks are never changed in place, so copies may share them.
        lineage = None if self.lineage is None else self.lineage.copy()
        memories, caches = [memory.copy() for memory in self.memories], [cache.copy() for cache in self.caches]
        return replace(self, memories=memories, caches=caches, lineage=lineage)


class Decoder(nn.Module):
    """Reads the target so far, with attention to the source."""

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
        self.output = Tap("row", "target", "feature")

    def remember(self, source: Float[Tensor, "B S E"]) -> Sequence[Memory | Unprepared]:
        """Keys and values of the source for each layer; in training each layer computes them on use."""
        if self.training and torch.is_grad_enabled():
            return [Unprepared(source)] * len(self.layers)
        return [layer.cross.remember(source).put() for layer in cast(Iterable[DecoderBlock], self.layers)]

    def forward(self, tokens: Int[Tensor, "N n"], state: TransformerState) -> Float[Tensor, "N n E"]:
        stream = self.input(tokens, state.offset, None if state.layout is None else state.layout.place)
        look = self._look(stream, state)
        layers, caches = cast(Iterable[DecoderBlock], self.layers), state.caches_for(tokens.shape[1])
        for layer, memory, cache in zip(layers, state.memories, caches, strict=True):
            stream = self.skip(stream, partial(layer, memory=memory, cache=cache, **look))
        result: Tensor = self.output(self.norm(stream))
        return result

    @property
    def watched(self) -> bool:
        """Whether a tap of the heads is in use."""
        layers = cast(Iterable[DecoderBlock], self.layers)
        return any(layer.attention.watched or layer.cross.watched for layer in layers)

    def _look(self, stream: Float[Tensor, "N n E"], state: TransformerState) -> dict[str, Tensor | None]:
        """The masks and biases of every layer."""
        count, offset = stream.shape[1], state.offset
        alike = None if state.layout is None else masks.same(state.layout.sequence, state.layout.sequence)
        mask = masks.combine(self._mask(count, offset, stream.device), alike)
        look = {"mask": mask, "source_mask": state.source_mask}
        if not (torch.is_grad_enabled() or self.watched):
            # Convert the mask once for all layers.
            look |= {"source_mask": None, "source_bias": masks.additive(state.source_mask, stream.dtype)}
        if state.lineage is not None:
            mask = look["mask"]
            look["mask"] = None if mask is None else mask.repeat_interleave(state.places, -1)
            look["bias"] = state.lineage.bias(offset + count, stream.dtype)
        return look

    def _mask(self, count: int, offset: int, device: torch.device) -> Tensor | None:
        """The window, if any; without one, the heads hide later positions."""
        if not self.window:
            return None
        return masks.window(count, offset + count, offset, size=self.window, causal=True, device=device)


class TransformerTranslator(Generator):
    """An encoder and a Transformer decoder with attention to the source.

    Encoder features are projected if the widths differ (`adapt`). Copying has its own attention head above the decoder,
    so that those of the blocks keep their fast kernels.
    """

    def __init__(self, settings: TransformerModel, source_size: int, target_size: int) -> None:
        super().__init__()
        self.decoder = Decoder(settings, target_size)
        embedding = self.decoder.input.embedding
        shared = embedding if settings.tie == "all" else None
        self.encoder = build_encoder(settings.source_encoder, source_size, shared)
        fits = self.encoder.width == settings.width
        self.adapt = nn.Identity() if fits else nn.Linear(self.encoder.width, settings.width)
        self.readout = LinearReadout(
            settings.width, target_size, shared=embedding if settings.tie != "none" else None, bias=False
        )
        self.cross_taps = tuple(f"decoder.layers.{layer}.cross.weights" for layer in range(settings.decoder_layers))
        self.copies = settings.copying
        if settings.copying:
            self.pointer, self.gate = Pointer(settings.width), CopyGate(settings.width)
            self.cross_taps += ("pointer.weights",)
        name_axes(self.encoder, step="source", query="source", key="source")
        name_axes(self.decoder, step="past", query="target", key="past")
        for name, part in self.named_children():
            if name != "encoder":
                scale_weights(part, settings.initial_scale)

    def start(self, source: Padded, capacity: int) -> TransformerState:
        encoded = self.encoder(source)
        features = self.adapt(encoded.features)
        memories = self.decoder.remember(features)
        copyable = Copyable(words_of(source), self.pointer.keys(features)) if self.copies else None
        # Most outputs are about as long as their sources.
        caches = [KeyValueCache(capacity, expected=source.tokens.shape[1]) for _ in memories]
        if isinstance(source, PackedSequences):
            mask = masks.same(source.target.sequence, source.own.sequence)
            return TransformerState(memories, caches, mask, copyable=copyable, layout=source.target)
        return TransformerState(memories, caches, masks.padding(encoded.keep), copyable=copyable)

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
