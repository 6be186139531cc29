"""A Transformer decoder as a language model (Radford et al. 2018), with memory of earlier segments (Dai et al. 2019).

The inputs of each block at the last `memory` words carry over to the next segment, detached, where keys and values are
computed from them with the current weights. Positions must be relative.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.attention import KeyValueCache, masks
from regard.data.batch import Padded
from regard.models.copying import known_tokens
from regard.models.encoders.transformer import TokenInput, build_blocks, last_norm, scale_weights
from regard.models.generator import State
from regard.models.language import Carry, LanguageModel, Reading
from regard.models.language_readout import build_readout
from regard.nn.blocks import EncoderBlock
from regard.nn.dropout import Dropout, LayerDrop
from regard.recipe import TransformerLanguageModel as Settings
from regard.tap import Tap, name_axes


@dataclass
class TransformerLanguageState(State):
    """Keys and values of the words so far, for each block, and the memory for the next segment, if any."""

    caches: list[KeyValueCache]
    inputs: list[Float[Tensor, "N m E"]]
    """Inputs of each block at the last words; empty without memory."""
    there: Bool[Tensor, "N m"] | None
    """True for words, False for padding."""
    real: Bool[Tensor, "N L"] | None = None
    """Which of the first positions in the caches are words: rows that have read less than the memory holds are
    padded."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return replace(
            self,
            caches=[cache.select(rows) for cache in self.caches],
            inputs=[part.index_select(0, rows) for part in self.inputs],
            there=None if self.there is None else self.there[rows],
            real=None if self.real is None else self.real[rows],
        )

    def copy(self) -> Self:
        return replace(self, caches=[cache.copy() for cache in self.caches], inputs=list(self.inputs))


class TransformerLanguageModel(LanguageModel):
    """Blocks of self-attention between an embedding and a readout; the tap `output` shows the features."""

    def __init__(self, settings: Settings, size: int) -> None:
        super().__init__()
        self.memory, self.window, self.output_width = settings.memory, settings.window, settings.width
        self.input = TokenInput(settings, size)
        # A window hides later positions by itself.
        self.layers = build_blocks(settings, settings.layers, causal=not settings.window)
        self.skip = LayerDrop(settings.layer_drop)
        self.norm = last_norm(settings)
        self.dropout = Dropout(settings.output_dropout)
        self.readout = build_readout(settings, settings.width, self.input.embedding)
        self.output = Tap("row", "target", "feature")
        name_axes(self, step="past", query="target", key="past")
        scale_weights(self, settings.initial_scale)

    def blank(self, rows: int) -> dict[str, Tensor]:
        if not self.memory:
            return {}
        inputs = {f"{place}.input": self.like.new_zeros(rows, self.memory, self.output_width) for place in self._places}
        return inputs | {"there": torch.zeros(rows, self.memory, dtype=torch.bool, device=self.like.device)}

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, TransformerLanguageState)
        if state.there is None:
            return {}
        missing = self.memory - state.there.shape[1]
        inputs = {
            f"{place}.input": F.pad(part.detach().to(self.like.dtype), (0, 0, missing, 0))
            for place, part in zip(self._places, state.inputs, strict=True)
        }
        return inputs | {"there": F.pad(state.there, (missing, 0))}

    def resume(self, carry: Carry, capacity: int) -> TransformerLanguageState:
        caches = [KeyValueCache(self.memory + capacity) for _ in self._places]
        if not carry:
            return TransformerLanguageState(caches, [], None)
        inputs = [carry[f"{place}.input"] for place in self._places]
        for block, part, cache in zip(self._blocks, inputs, caches, strict=True):
            block.note(part, cache)
        return TransformerLanguageState(caches, inputs, carry["there"], carry["there"])

    def start(self, source: Padded, capacity: int) -> TransformerLanguageState:
        """Without memory, rather than with one of padding."""
        caches = [KeyValueCache(capacity) for _ in self._places]
        if not self.memory:
            return TransformerLanguageState(caches, [], None)
        rows = len(source.tokens)
        inputs = [self.like.new_zeros(rows, 0, self.output_width) for _ in self._places]
        return TransformerLanguageState(caches, inputs, torch.ones(rows, 0, dtype=torch.bool, device=self.like.device))

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, TransformerLanguageState)
        offset = state.caches[0].length
        mask = self._mask(tokens, state, offset)
        stream = self.input(known_tokens(tokens, self.readout.size), offset)
        inputs = []
        for block, cache, before in zip(self._blocks, state.caches, state.inputs or repeat(None), strict=False):
            if before is not None:
                inputs.append(torch.cat([before, stream.detach()], 1)[:, -self.memory :])
            stream = self.skip(stream, partial(block, mask=mask, cache=cache))
        raw = self.norm(stream)
        dropped = self.dropout(raw)
        there = state.there
        if there is not None:
            there = torch.cat([there, there.new_ones(tokens.shape)], 1)[:, -self.memory :]
        # The caches grow in place.
        return Reading(self.output(dropped), replace(state, inputs=inputs, there=there), raw, dropped)

    def _mask(
        self, tokens: Int[Tensor, "N n"], state: TransformerLanguageState, offset: int
    ) -> Bool[Tensor, "..."] | None:
        """Hides positions outside the window and padding in the memory; without a window, the heads are causal."""
        count, near, words = tokens.shape[1], None, None
        if self.window:
            near = masks.window(count, offset + count, offset, size=self.window, causal=True, device=tokens.device)
        if state.real is not None:
            words = masks.padding(F.pad(state.real, (0, offset + count - state.real.shape[1]), value=True))
        return masks.combine(near, words)

    @property
    def _places(self) -> range:
        return range(len(self.layers))

    @property
    def _blocks(self) -> Sequence[EncoderBlock]:
        return [block for block in self.layers if isinstance(block, EncoderBlock)]
