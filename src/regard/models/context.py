"""Context in a conversation: the mean of the vectors of earlier texts, weighted by attention."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import SCORES, Attention
from regard.data.conversations import NOWHERE, TextsInContext
from regard.recipe import ContextTable
from regard.tap import name_axes


class ConversationContext(nn.Module):
    """Gives each text its own vector v and its context: with u the vector of an earlier text, and r a learned vector
    for its distance and whether it has the same speaker, v is the query, and u + r are keys and values. The first text
    of a conversation has a context of zeros. The tap `attention.weights` shows the weights, the nearest text first."""

    def __init__(self, settings: ContextTable, width: int) -> None:
        super().__init__()
        self.width = 2 * width
        self.relation = nn.Parameter(torch.randn(2 * settings.reach, width) * width**-0.5)
        score = SCORES[settings.score](width, width, hidden=settings.hidden)
        self.attention = Attention(score, settings.normalizer)
        name_axes(self.attention, query="text", key="earlier")

    def forward(self, vectors: Float[Tensor, "N F"], texts: TextsInContext) -> Float[Tensor, "B G"]:
        """`vectors` are those of all texts, context included."""
        distances = torch.arange(texts.earlier.shape[1], device=vectors.device)
        said = vectors[texts.earlier.clamp_min(0)] + self.relation[2 * distances + texts.same]
        own, said = vectors[texts.asked], said.unsqueeze(1)
        there = (texts.earlier != NOWHERE)[:, None, None]
        context = self.attention(own[:, None, None], said, said, mask=there)
        return torch.cat([own, context[:, 0, 0]], -1)
