"""The continuous cache (Grave, Joulin and Usunier 2017): recent words are likely to occur again.

With h the output of a trained model's last layer, and h_i that before the word w_{i+1}, of the last `size` words:

    p(w) = (1 − λ) · p_model(w) + λ · p_cache(w),    p_cache(w) ∝ Σ over w_{i+1} = w of exp(θ h · h_i)

Nothing is trained: θ and λ are chosen on development text. Each segment of a text is scored by one product.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention import softmax
from regard.data.batch import Padded
from regard.errors import UsageError
from regard.models.copying import CopyReadout
from regard.models.generator import Readout, State
from regard.models.language import Carry, LanguageModel, Reading
from regard.models.language_copying import OpenReadout
from regard.models.recent_states import Recent
from regard.tap import Tap
from regard.tokens.vocabulary import PAD

MOST = 1_000_000
"""Largest cache, in words: it is allocated at once."""
THETA, SHARE = 0.66, 0.13
"""As for AWD-LSTM on WikiText-2 (Merity, Keskar and Socher 2018), rounded; tune them for each model."""


def refuse_impossible_cache(
    size: int, theta: float = THETA, share: float = SHARE, *, named: Sequence[str] = ("size =", "theta =", "share =")
) -> None:
    """Refuses invalid settings; `named` are the names of the three in messages."""
    if size < 1:
        raise UsageError(f"a cache of {named[0]} {size} words is empty; give 1 or more")
    if size > MOST:
        raise UsageError(f"a cache of {named[0]} {size:,} words does not fit into memory; give at most {MOST:,}")
    if not 0 <= theta < math.inf:
        raise UsageError(f"the cache's {named[1]} {theta} must be finite and at least 0")
    if not 0 <= share < 1:
        raise UsageError(f"the cache's {named[2]} {share} must be at least 0 and below 1")


@dataclass(frozen=True)
class CacheState(State):
    """The model's state, the recent words with the outputs before them, and the last output."""

    inner: State
    recent: Recent
    last: Float[Tensor, "N H"]
    """Zeros before the first output."""

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return type(self)(self.inner.select(rows), self.recent.select(rows), self.last.index_select(0, rows))

    def copy(self) -> Self:
        return type(self)(self.inner.copy(), self.recent, self.last)  # the others are never changed in place


class ContinuousCache(LanguageModel):
    """A trained model with a cache of its last `size` words, which gets `share` of the probability; the tap `weights`
    shows the distribution over them, "N 1 n K"."""

    def __init__(self, model: LanguageModel, *, size: int = 500, theta: float = THETA, share: float = SHARE) -> None:
        super().__init__()
        refuse_impossible_cache(size, theta, share)
        self.model, self.readout = model, model.readout
        self.size, self.theta, self.share = size, theta, share
        self.weights = Tap("row", "head", "target", "past")

    def blank(self, rows: int) -> dict[str, Tensor]:
        recent = Recent.none(rows, self._width, self.like, self.size)
        inner = {f"model.{name}": part for name, part in self.model.blank(rows).items()}
        return inner | self._named(recent, self.like.new_zeros(rows, self._width))

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, CacheState)
        inner = {f"model.{name}": part for name, part in self.model.carried(state.inner).items()}
        return inner | self._named(state.recent.exactly(self.size), state.last)

    def resume(self, carry: Carry, capacity: int) -> CacheState:
        inner = {name.removeprefix("model."): part for name, part in carry.items() if name.startswith("model.")}
        recent = Recent(carry["recent"], carry["words"])
        return CacheState(self.model.resume(inner, capacity), recent, carry["last"])

    def start(self, source: Padded, capacity: int) -> CacheState:
        recent = Recent.none(len(source.tokens), self._width, self.like)
        last = self.like.new_zeros(len(source.tokens), self._width)
        return CacheState(self.model.start(source, capacity), recent, last)

    def readout_of(self, state: State) -> Readout:
        assert isinstance(state, CacheState)
        return OpenReadout(self.model.readout_of(state.inner), state.recent.words, 0, part="cache")

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, CacheState)
        reading = self.model.read(tokens, state.inner)
        before = torch.cat([state.last.to(reading.raw.dtype)[:, None], reading.raw], 1)
        # The first word of a text has no output before it.
        known = torch.cat([tokens[:, :1].where(state.last.any(1, keepdim=True), PAD), tokens[:, 1:]], 1)
        recent = state.recent.last(self.size).join(before[:, :-1], known)
        scores = self.theta * reading.raw.unsqueeze(1) @ recent.vectors.unsqueeze(1).mT
        visible = recent.visible(tokens.shape[1], self.size, itself=True)
        copies = self.share * self.weights(softmax(scores, visible)).squeeze(1)
        features = CopyReadout.join(reading.features, 1 - copies.sum(-1, keepdim=True), copies)
        after = CacheState(reading.state, recent, before[:, -1])
        return Reading(features, after, reading.raw, reading.dropped)

    @property
    def _width(self) -> int:
        return self.model.output_width

    def _named(self, recent: Recent, last: Tensor) -> dict[str, Tensor]:
        vectors, last = (part.detach().to(self.like.dtype) for part in (recent.vectors, last))
        return {"recent": vectors, "words": recent.words, "last": last}
