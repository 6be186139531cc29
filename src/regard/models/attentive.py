"""A recurrent language model with attention: each state is a query, its earlier states are the keys and the values
(Cheng et al. 2016, Daniluk et al. 2017).

With h the output of the last layer and c the context, the readout sees

    concatenate   [h; c]
    add           h + V c, with V zero at first, so that the model starts as the recurrent one that it extends

Added, context and prediction have separate parts of the state, and with `score = "multiplicative"` keys have one too
(Daniluk et al.'s key, value and prediction, as linear maps). Attention of a segment is one call. The context of the
first position of a text is zero.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import SCORES, Attention
from regard.models.generator import State
from regard.models.language import Reading
from regard.models.language_recurrent import LookingBack, RecurrentLanguageState
from regard.models.recent_states import Recent
from regard.recipe import AttentiveModel
from regard.tap import name_axes


class AttentiveLanguageModel(LookingBack):
    """Attends to the `reach` states before each; taps `attention.weights` "N 1 n K" and the like."""

    def __init__(self, settings: AttentiveModel, size: int) -> None:
        super().__init__(settings, size, parts=1 if settings.join == "add" else 2)
        self.reach, width = settings.reach, self.stack.width
        score = SCORES[settings.score](width, width, hidden=settings.score_hidden)
        self.attention = Attention(score, settings.normalizer)
        name_axes(self.attention, query="target", key="past")
        self.added = nn.Linear(width, width, bias=False) if settings.join == "add" else None
        if self.added is not None:
            nn.init.zeros_(self.added.weight)

    def read(self, tokens: Int[Tensor, "N n"], state: State) -> Reading:
        assert isinstance(state, RecurrentLanguageState)
        raw, recurrent = self.run(tokens, state)
        recent = self.remember(raw, tokens, state)
        dropped = self.dropout(torch.cat([raw, self.look(raw, recent)], -1))
        own, context = dropped.chunk(2, -1)
        joined = dropped if self.added is None else own + self.added(context)
        features = self.output(self.toward(joined))
        return Reading(features, RecurrentLanguageState(recurrent, recent), raw, own)

    def look(self, queries: Float[Tensor, "N n H"], recent: Recent) -> Float[Tensor, "N n H"]:
        """The context of each of the last n positions."""
        keys = recent.vectors.unsqueeze(1)
        mask = recent.visible(queries.shape[1], self.reach, itself=False)
        context: Tensor = self.attention(queries.unsqueeze(1), keys, keys, mask=mask)
        return context.squeeze(1)
