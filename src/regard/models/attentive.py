"""A recurrent language model with attention: each state is a query, its earlier states are the keys and the values
(Cheng et al. 2016, Daniluk et al. 2017).

With h the output of the last layer and c the context, the readout sees

    concatenate   [h; c]
    add           h + V c, with V zero at first, so that the model starts as the recurrent one that it extends

States may have separate parts as keys, values and predictions (Daniluk et al.); h is then the prediction. Values may
also be the vectors of the words that followed the earlier states, so that attention says which word may come again.
Attention of a segment is one call. The context of the first position of a text is zero.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import SCORES, Attention
from regard.models.copying import known_tokens
from regard.models.generator import State
from regard.models.language import Reading
from regard.models.language_recurrent import LookingBack, RecurrentLanguageState
from regard.models.recent_states import Recent
from regard.recipe import AttentiveModel
from regard.tap import name_axes

PARTS = {1: (0, 0, 0), 2: (0, 1, 1), 3: (0, 1, 2)}
"""The parts of a state that are key, value and prediction, by the number of parts."""


class AttentiveLanguageModel(LookingBack):
    """Attends to the `reach` states before each; taps `attention.weights` "N 1 n K" and the like."""

    def __init__(self, settings: AttentiveModel, size: int) -> None:
        # The constructor of recurrent models asks for the width of the features, which depends on these.
        self.concatenates, self.mixes_words = settings.join == "concatenate", settings.values == "words"
        super().__init__(settings, size, parts=settings.parts)
        self.reach, self.parts = settings.reach, settings.parts
        score = SCORES[settings.score](self.part_width, self.part_width, hidden=settings.score_hidden)
        self.attention = Attention(score, settings.normalizer, settings.attention_dropout)
        name_axes(self.attention, query="target", key="past")
        self.added = None if self.concatenates else nn.Linear(self._value_width, self.part_width, bias=False)
        if self.added is not None:
            nn.init.zeros_(self.added.weight)

    @property
    def _value_width(self) -> int:
        return self.input.embedding.width if self.mixes_words else self.part_width

    def width_of_features(self) -> int:
        return self.part_width + (self._value_width if self.concatenates else 0)

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, RecurrentLanguageState)
        raw, recurrent = self.run(tokens, state)
        recent = self.remember(raw, tokens, state)
        *_, prediction = self.divide(raw)
        dropped = self.dropout(torch.cat([prediction, self.look(raw, recent)], -1))
        own, context = dropped[..., : self.part_width], dropped[..., self.part_width :]
        joined = dropped if self.added is None else own + self.added(context)
        features = self.output(self.toward(joined))
        return Reading(features, RecurrentLanguageState(recurrent, recent), prediction, own)

    def look(self, states: Float[Tensor, "N n H"], recent: Recent) -> Float[Tensor, "N n C"]:
        """The context of each of the last n positions."""
        query, *_ = self.divide(states)
        key, value, _ = self.divide(recent.vectors)
        if self.mixes_words:
            # The last state sees no word after it, and nothing sees the last state.
            following = recent.words.roll(-1, 1)
            value = self.input.embedding.look_up(known_tokens(following, self.readout.size)).to(key.dtype)
        mask = recent.visible(query.shape[1], self.reach, itself=False)
        context: Tensor = self.attention(*(each.unsqueeze(1) for each in (query, key, value)), mask=mask)
        return context.squeeze(1)

    def divide(self, states: Float[Tensor, "N K H"]) -> tuple[Tensor, ...]:
        """Key, value and prediction."""
        parts = torch.split(states, self.part_width, -1)
        return tuple(parts[place] for place in PARTS[self.parts])
