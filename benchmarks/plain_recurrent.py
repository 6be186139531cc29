"""A recurrent translator in plain torch: its own layers and a loop over the target's places.

Bidirectional LSTM encoder, LSTM decoder with additive attention before the cell (Bahdanau et al. 2015).
"""

import torch
from torch import Tensor, nn


class PlainRecurrent(nn.Module):
    """Logits of all places of a target, given source and target."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int, dropout: float, padding: int) -> None:
        super().__init__()
        self.padding = padding
        self.source, self.target = nn.Embedding(vocabulary, embedding), nn.Embedding(vocabulary, embedding)
        self.encoder = nn.LSTM(embedding, hidden, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(embedding + 2 * hidden, hidden)
        self.keys, self.query = nn.Linear(2 * hidden, hidden, bias=False), nn.Linear(hidden, hidden)
        self.energy, self.bridge = nn.Linear(hidden, 1, bias=False), nn.Linear(2 * hidden, hidden)
        self.blend, self.output = nn.Linear(3 * hidden + embedding, hidden), nn.Linear(hidden, vocabulary)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, given: Tensor) -> Tensor:
        values, (last, _) = self.encoder(self.source(source))
        state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
        memory, keys, hidden = torch.zeros_like(state), self.keys(values), source.eq(self.padding)
        vectors, features = self.target(given), []
        for place in range(given.shape[1]):
            scores = self.energy(torch.tanh(keys + self.query(state)[:, None])).squeeze(2)
            weights = scores.masked_fill(hidden, -torch.inf).softmax(1)
            context = torch.bmm(weights[:, None].to(values.dtype), values).squeeze(1)
            state, memory = self.cell(torch.cat([vectors[:, place], context], 1), (state, memory))
            features.append(torch.tanh(self.blend(torch.cat([state, context, vectors[:, place]], 1))))
        logits: Tensor = self.output(self.dropout(torch.stack(features, 1)))
        return logits
