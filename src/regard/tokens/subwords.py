"""What BPE and unigram share: an alphabet, units to learn subwords from, and the library that finds them in a text.

How text is split into units: `regard.tokens.units`.
"""

from abc import abstractmethod
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Self

import tokenizers
from tokenizers import models

from regard import recipe
from regard.tokens.listed import frequent
from regard.tokens.rows import Rows
from regard.tokens.tokenizer import Tokenizer, normal, room
from regard.tokens.units import UNITS, count_characters, count_units, without
from regard.tokens.vocabulary import SPECIAL_NAMES, Vocabulary

UNREACHABLE = tuple(f"{name} " for name in SPECIAL_NAMES)
"""Names of the special tokens inside the library. No unit ends in a space after something else, so no text has them."""

_MOST_KNOWN = 1 << 21
"""Characters of words whose tokens are kept in mind."""


class Subwords(Tokenizer):
    """Learned pieces of words. Decoding gives the text back if all its characters are in the vocabulary."""

    def __init__(self, settings: recipe.TokenizerSettings, vocabulary: Vocabulary, model: models.Model) -> None:
        super().__init__(settings, vocabulary)
        self._library = _splitting(model)
        self._known: dict[str, bytes] = {}
        self._characters = 0

    @classmethod
    def train(cls, settings: recipe.TokenizerSettings, texts: Iterable[str]) -> Self:
        units = count_units(normal(text, settings) for text in texts)
        counts = count_characters(units)
        del counts[" "]  # every text gets one in front, so it is never rare
        alphabet = {" ", *frequent(counts, settings)[: room(settings) - 1]}
        return cls._learn(settings, sorted(alphabet), without(units, counts.keys() - alphabet))

    @classmethod
    @abstractmethod
    def _learn(cls, settings: recipe.TokenizerSettings, alphabet: Sequence[str], units: Counter[str]) -> Self:
        """Learns subwords from units; characters outside the alphabet stay out."""

    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        return "".join(self._texts(tokens, beyond)).removeprefix(" ")

    def encode_within(self, text: str) -> list[int]:
        found: list[int] = self._library.encode(normal(text, self.settings), add_special_tokens=False).ids
        return found

    def encode_rows(self, texts: Sequence[str]) -> Rows:
        return self._rows([normal(text, self.settings) for text in texts])

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self._rows(texts).lists()

    def _rows(self, texts: Sequence[str]) -> Rows:
        words = [text.split(" ") if text else [] for text in texts]
        known = self._looked_up(chain.from_iterable(words))
        return Rows.packed([b"".join(map(known.__getitem__, row)) for row in words])

    def _looked_up(self, words: Iterable[str]) -> Mapping[str, bytes]:
        """The tokens of these words and of others: no unit goes on after a space, so that each word can be looked up by
        itself, and once."""
        if self._characters > _MOST_KNOWN:
            # Others than before, as another thread may be reading those.
            self._known, self._characters = {}, 0
        known = self._known
        new = [word for word in dict.fromkeys(words) if word not in known]
        found = self._library.encode_batch_fast([" " + word for word in new], add_special_tokens=False)
        known.update(zip(new, (array("i", one.ids).tobytes() for one in found), strict=True))
        self._characters += sum(map(len, new))
        return known

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        found = self._library.encode(" " + text if text else "", add_special_tokens=False)
        # Places count from the space in front, which the text does not have.
        places = [(max(start - 1, 0), end - 1) for start, end in found.offsets]
        return [(token, start, end) for token, (start, end) in zip(found.ids, places, strict=True)]


def _splitting(model: models.Model) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = UNITS
    return library
