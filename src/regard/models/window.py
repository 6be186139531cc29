"""A language model that sees only the last n words (Bengio et al. 2003).

With x the concatenated embeddings of the last n words:  p = softmax(b + U tanh(d + H x) + W x), W being optional.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.models.copying import known_tokens
from regard.models.generator import State
from regard.models.language import Carry, LanguageModel, Reading
from regard.models.language_readout import build_readout, build_toward
from regard.nn.dropout import Dropout
from regard.nn.embedding import TokenEmbedding
from regard.recipe import WindowModel
from regard.tap import Tap, name_axes


@dataclass(frozen=True)
class WindowState(State):
    """The last words, one fewer than the window; PAD before the beginning of the text."""

    words: Int[Tensor, "N w"]

    def select(self, rows: Int[Tensor, " M"]) -> Self:
        return replace(self, words=self.words.index_select(0, rows))

    def copy(self) -> Self:
        return self  # never changed in place


class WindowLanguageModel(LanguageModel):
    """One hidden layer over the last words; the tap `hidden` shows it, `output` the features."""

    def __init__(self, settings: WindowModel, size: int) -> None:
        super().__init__()
        self.window, self.direct, self.output_width = settings.window, settings.direct, settings.hidden
        seen = settings.window * settings.embedding
        self.embedding = TokenEmbedding(size, settings.embedding, scale=settings.embedding**0.5)
        self.inward = nn.Linear(seen, settings.hidden)
        nn.init.xavier_uniform_(self.inward.weight)
        nn.init.zeros_(self.inward.bias)
        self.dropout = Dropout(settings.dropout)
        width = settings.hidden + (seen if settings.direct else 0)
        self.toward = build_toward(settings, width, self.embedding)
        self.readout = build_readout(settings, width, self.embedding)
        self.hidden, self.output = (Tap("row", "target", "feature") for _ in range(2))
        # The axis has padding before the text.
        name_axes(self.embedding, step="+".join(["none"] * (settings.window - 1) + ["past"]))

    def blank(self, rows: int) -> dict[str, Tensor]:
        return {"words": torch.zeros(rows, self.window - 1, dtype=torch.long, device=self.like.device)}

    def carried(self, state: State) -> dict[str, Tensor]:
        assert isinstance(state, WindowState)
        return {"words": state.words}

    def resume(self, carry: Carry, capacity: int) -> WindowState:
        return WindowState(carry["words"])

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, WindowState)
        words = torch.cat([state.words, tokens], 1)
        vectors = self.dropout(self.embedding(known_tokens(words, self.embedding.size)))
        # "N n E w" to "N n w·E": the concatenated vectors of each window.
        seen = vectors.unfold(1, self.window, 1).transpose(2, 3).flatten(2)
        raw = self.hidden(torch.tanh(self.inward(seen)))
        dropped = self.dropout(raw)
        features = self.output(self.toward(torch.cat([dropped, seen], -1) if self.direct else dropped))
        return Reading(features, WindowState(words[:, tokens.shape[1] :]), raw, dropped)
