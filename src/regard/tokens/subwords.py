"""What BPE and unigram share: how text is split before subwords are looked for, and the library that finds them.

A space is put before the text; then a space and the letters after it are one unit (" Haus"), and so are a space and a
digit, or a space and a run of one and the same other character ("..."). Subwords never cross these units. Every other
white space is a unit by itself. Nothing is ever removed or replaced, so joining subwords gives the text back exactly,
and the space that marks the beginning of a word cannot be confused with anything else in the text.
"""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import tokenizers
from tokenizers import Regex, models, pre_tokenizers, trainers

from regard import recipe
from regard.tokens.listed import frequent
from regard.tokens.tokenizer import Tokenizer, normal, room
from regard.tokens.vocabulary import SPECIAL_NAMES, Vocabulary

UNREACHABLE = tuple(f"{name} " for name in SPECIAL_NAMES)
"""Names of the special tokens inside the library. No unit ends in a space after something else, so no text has them."""

UNITS = r" ?[\p{L}\p{M}]+| ?\p{N}| ?([^\s\p{L}\p{M}\p{N}])\1*|\s"

_BREAK = "\n"
"""White space, and so a unit by itself: put in the place of rare characters, it keeps subwords from crossing them."""


class Subwords(Tokenizer):
    """Learned pieces of words. Decoding gives the text back if all its characters are in the vocabulary."""

    def __init__(self, settings: recipe.Tokenizer, vocabulary: Vocabulary, model: models.Model) -> None:
        super().__init__(settings, vocabulary)
        self._library = _splitting(model)

    @classmethod
    def train(cls, settings: recipe.Tokenizer, texts: Iterable[str]) -> Self:
        texts = list(texts) if isinstance(texts, Iterator) else texts
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(normal(text, settings))
        del counts[" "]  # every text gets one in front, so it is never rare
        alphabet = {" ", *frequent(counts, settings)[: room(settings) - 1]}
        rare = str.maketrans(dict.fromkeys(counts.keys() - alphabet, _BREAK))
        return cls._learn(settings, sorted(alphabet), (" " + normal(text, settings).translate(rare) for text in texts))

    @classmethod
    @abstractmethod
    def _learn(cls, settings: recipe.Tokenizer, alphabet: Sequence[str], texts: Iterable[str]) -> Self:
        """Learns subwords from texts that are ready to be split; characters outside the alphabet stay out."""

    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        return "".join(self._texts(tokens, beyond)).removeprefix(" ")

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        ready = [" " + text if text else "" for text in texts]
        return [found.ids for found in self._library.encode_batch_fast(ready, add_special_tokens=False)]

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        found = self._library.encode(" " + text if text else "", add_special_tokens=False)
        # Places count from the space in front, which the text does not have.
        places = [(max(start - 1, 0), end - 1) for start, end in found.offsets]
        return [(token, start, end) for token, (start, end) in zip(found.ids, places, strict=True)]


def learn(model: models.Model, trainer: trainers.Trainer, texts: Iterable[str]) -> dict[str, Any]:
    """What the library's trainer learns from texts, as the plain data of its model."""
    library = _splitting(model)
    library.train_from_iterator(texts, trainer)
    learned: dict[str, Any] = json.loads(library.to_str())["model"]
    return learned


def _splitting(model: models.Model) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.Split(Regex(UNITS), "isolated")
    return library
