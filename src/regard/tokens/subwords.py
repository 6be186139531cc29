"""Base of BPE and unigram tokenizers: subwords learned from units (`regard.tokens.units`), found by `tokenizers`."""

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
"""Names of the special tokens inside the library. No unit ends in a space after other text, so no text matches them."""

_MOST_CACHED = 1 << 21
"""Capacity of the word cache, in characters."""


class Subwords(Tokenizer):
    """Learned pieces of words. Decoding restores the text if all its characters are in the vocabulary."""

    def __init__(self, settings: recipe.TokenizerSettings, vocabulary: Vocabulary, model: models.Model) -> None:
        super().__init__(settings, vocabulary)
        self._library = tokenizers.Tokenizer(model)
        self._library.pre_tokenizer = UNITS
        self._cache: dict[str, bytes] = {}
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
        """Learns subwords from units; excludes characters outside the alphabet."""

    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        return "".join(self._texts(tokens, beyond)).removeprefix(" ")

    def encode_rows(self, texts: Sequence[str]) -> Rows:
        return self._rows([normal(text, self.settings) for text in texts])

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self._rows(texts).lists()

    def _rows(self, texts: Sequence[str]) -> Rows:
        words = [text.split(" ") if text else [] for text in texts]
        cache = self._cached(chain.from_iterable(words))
        return Rows.packed([b"".join(map(cache.__getitem__, row)) for row in words])

    def _cached(self, words: Iterable[str]) -> Mapping[str, bytes]:
        """The cache of the tokens of words, filled with these. No unit crosses a space, so words are independent."""
        if self._characters > _MOST_CACHED:
            # A new dictionary, as another thread may be reading the old one.
            self._cache, self._characters = {}, 0
        cache = self._cache
        new = [word for word in dict.fromkeys(words) if word not in cache]
        found = self._library.encode_batch_fast([" " + word for word in new], add_special_tokens=False)
        cache.update(zip(new, (array("i", one.ids).tobytes() for one in found), strict=True))
        self._characters += sum(map(len, new))
        return cache

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        found = self._library.encode(" " + text if text else "", add_special_tokens=False)
        # Offsets include the space in front, which the text does not have.
        places = [(max(start - 1, 0), end - 1) for start, end in found.offsets]
        return [(token, start, end) for token, (start, end) in zip(found.ids, places, strict=True)]
