"""Indices of out-of-vocabulary words, by which a model that copies distinguishes them.

To a tokenizer of V tokens all of them are UNKNOWN. Here a word has the index V + s, where s is a hash of the word: it
is the same in every text, and nothing has to be learned or stored. Two words may collide; with a few hundred slots,
seldom within a model's reach.
"""

import zlib
from collections.abc import Sequence

from regard.recipe import CopyingModel
from regard.recipe.language_models import LanguageModel
from regard.tokens import UNKNOWN, Tokenizer
from regard.tokens.tokenizer import UNKNOWN_TEXT


class Slots:
    """Assigns unknown words to `count` slots, and remembers the last word of each."""

    def __init__(self, tokenizer: Tokenizer, count: int) -> None:
        self.tokenizer, self.count = tokenizer, count
        self.beyond: list[str] = [UNKNOWN_TEXT] * count
        """The last word in each slot."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, with unknown words numbered."""
        rows = self.tokenizer.encode_all(texts)
        return [self._numbered(row, text) if UNKNOWN in row else row for row, text in zip(rows, texts, strict=True)]

    def _numbered(self, row: list[int], text: str) -> list[int]:
        words = iter(self.tokenizer.unknown(text))
        return [self._number(next(words)) if token == UNKNOWN else token for token in row]

    def _number(self, word: str) -> int:
        slot = zlib.crc32(word.encode()) % self.count
        self.beyond[slot] = word
        return self.tokenizer.size + slot


def slotted(tokenizer: Tokenizer, settings: LanguageModel) -> Tokenizer | Slots:
    """The encoder for a model of these settings: the tokenizer, unless the model has slots for unknown words."""
    count = settings.slots if isinstance(settings, CopyingModel) else 0
    return Slots(tokenizer, count) if count else tokenizer
