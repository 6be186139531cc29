"""Character encoders of words: a CNN (Ma and Hovy 2016) and a bidirectional LSTM (Lample et al. 2016).

Each maps the characters of U distinct words to a vector for each. Padding changes nothing, and words are
independent.
"""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.batch import Padded
from regard.models.encoders.encoder import Input
from regard.nn.dropout import Dropout
from regard.nn.recurrent import RecurrentStack
from regard.recipe import CharacterTable
from regard.recipe import words as names


class CharacterCNN(nn.Module):
    """Filters over windows of characters, and the largest value of each: max over i of tanh(W [x(i); …; x(i + w)] + b),
    where windows may begin before a word and end after it."""

    def __init__(self, settings: CharacterTable, size: int) -> None:
        super().__init__()
        self.input = Input(size, settings.embedding, dropout=Dropout(settings.dropout))
        self.window = settings.window
        self.filters = nn.Linear(settings.window * settings.embedding, settings.width)
        nn.init.xavier_uniform_(self.filters.weight)
        nn.init.zeros_(self.filters.bias)

    def forward(self, spellings: Padded) -> Float[Tensor, "U E"]:
        vectors = self.input(spellings.tokens).masked_fill(~spellings.keep.unsqueeze(2), 0.0)
        around = nn.functional.pad(vectors, (0, 0, self.window - 1, self.window - 1))
        places = vectors.shape[1] + self.window - 1
        windows = torch.cat([around[:, shift : shift + places] for shift in range(self.window)], -1)
        # A window belongs to a word if it covers one of its characters; an empty word has its first.
        last = spellings.lengths.clamp_min(1) + self.window - 1
        inside = torch.arange(places, device=last.device) < last[:, None]
        values = torch.tanh(self.filters(windows)).masked_fill(~inside.unsqueeze(2), -1.0)
        return values.amax(1)


class CharacterLSTM(nn.Module):
    """The last states of an LSTM that reads forward and of one that reads backward."""

    def __init__(self, settings: CharacterTable, size: int) -> None:
        super().__init__()
        self.input = Input(size, settings.embedding, dropout=Dropout(settings.dropout))
        self.stack = RecurrentStack("lstm", settings.embedding, settings.width // 2, bidirectional=True)

    def forward(self, spellings: Padded) -> Float[Tensor, "U E"]:
        _, last = self.stack(self.input(spellings.tokens), spellings.lengths)
        ahead, _, back, _ = last.layers[0]
        return torch.cat([ahead, back], -1)


CHARACTER_ENCODERS: Mapping[str, Callable[[CharacterTable, int], nn.Module]] = names.CHARACTER_ENCODERS
