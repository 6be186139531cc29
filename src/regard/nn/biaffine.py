"""Biaffine scores (Dozat and Manning 2017): every dependent with every head, or with one head each."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.dropout import FeatureDropout


class Projection(nn.Module):
    """A linear layer with a leaky ReLU, and dropout of features."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.map = nn.Linear(width, hidden)
        self.dropout = FeatureDropout(dropout)
        nn.init.orthogonal_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, features: Float[Tensor, "B S E"]) -> Float[Tensor, "B S F"]:
        dropped: Tensor = self.dropout(F.leaky_relu(self.map(features), 0.1))
        return dropped


class ArcScores(nn.Module):
    """d · (U h) + u · h for every dependent d and head h."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dependent, self.head = (Projection(width, hidden, dropout) for _ in range(2))
        # Zeros, as in the paper: in the beginning every head is as likely as any other.
        self.product = nn.Parameter(torch.zeros(hidden, hidden))
        self.prior = nn.Parameter(torch.zeros(hidden))

    def forward(self, dependents: Float[Tensor, "B S E"], heads: Float[Tensor, "B K E"]) -> Float[Tensor, "B S K"]:
        asked = self.dependent(dependents) @ self.product + self.prior
        scores: Tensor = asked @ self.head(heads).transpose(1, 2)
        return scores


class LabelScores(nn.Module):
    """[d; 1] · (U [h; 1]) for each of several labels, of each dependent d with one head h."""

    def __init__(self, width: int, hidden: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.dependent, self.head = (Projection(width, hidden, dropout) for _ in range(2))
        self.product = nn.Parameter(torch.zeros(labels, hidden + 1, hidden + 1))

    def forward(self, dependents: Float[Tensor, "B S E"], heads: Float[Tensor, "B S E"]) -> Float[Tensor, "B S labels"]:
        dependent, head = (F.pad(each, (0, 1), value=1.0) for each in (self.dependent(dependents), self.head(heads)))
        return torch.einsum("bsi,lij,bsj->bsl", dependent, self.product, head)
