"""An LSTM language model in plain torch: its own layers, dropout and loss, step after step."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class WeightDropLSTM(nn.LSTM):
    """Drops recurrent weights, a new sample in each call, the same at all positions (Merity et al. 2018)."""

    def __init__(self, below: int, above: int, layers: int = 1, *, dropout: float = 0.0, weight_drop: float) -> None:
        super().__init__(below, above, layers, dropout=dropout)
        self.weight_drop = weight_drop

    def forward(self, features: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        # nn.LSTM calls the same function, of cuDNN where there is CUDA. Newly computed weights are not contiguous in
        # memory; cuDNN warns that it copies them, which is cheaper than to set them as parameters each time.
        weights = [
            F.dropout(weight, self.weight_drop, self.training) if name.startswith("weight_hh") else weight
            for name, weight in self.named_parameters()
        ]
        output, *after = torch.lstm(
            features, state, weights, self.bias, self.num_layers, self.dropout, self.training, False, False
        )
        return output, (after[0], after[1])


class PlainLanguageModel(nn.Module):
    """Layers of the widths given, in one call of the library where they are equal; tied embeddings."""

    def __init__(self, vocabulary: int, widths: Sequence[int], dropout: float, weight_drop: float = 0.0) -> None:
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(vocabulary, widths[0]), nn.Dropout(dropout)
        layer = partial(WeightDropLSTM, weight_drop=weight_drop) if weight_drop else nn.LSTM
        if len(set(widths)) == 1:
            self.layers = nn.ModuleList([layer(widths[0], widths[0], len(widths) - 1, dropout=dropout)])
        else:
            self.layers = nn.ModuleList(layer(below, above) for below, above in pairwise(widths))
        self.output = nn.Linear(widths[-1], vocabulary)
        self.output.weight = self.embedding.weight

    def initial(self, rows: int) -> list[tuple[Tensor, Tensor]]:
        like = self.embedding.weight
        return [(like.new_zeros(layer.num_layers, rows, layer.hidden_size),) * 2 for layer in self.layers]

    def forward(self, tokens: Tensor, state: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        features, after = self.dropout(self.embedding(tokens)), []
        for layer, before in zip(self.layers, state, strict=True):
            features, last = layer(features, before)
            features = self.dropout(features)
            after.append(last)
        return self.output(features), after


def plain_step(model: PlainLanguageModel, rows: int, length: int, *, mixed: bool) -> Callable[[], Tensor]:
    """A function that does one step of training, on the same random text each time, and gives its loss."""
    device, vocabulary = model.embedding.weight.device, model.embedding.num_embeddings
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    tokens = torch.randint(vocabulary, (length + 1, rows), device=device)
    state = model.initial(rows)

    def step() -> Tensor:
        nonlocal state
        with torch.autocast(device.type, torch.bfloat16, enabled=mixed):
            logits, after = model(tokens[:-1], [(hidden.detach(), memory.detach()) for hidden, memory in state])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[1:].flatten())
        state = [(hidden.float(), memory.float()) for hidden, memory in after]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss.detach()

    return step
