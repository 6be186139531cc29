"""The tokenizer interface: text to token indices and back, with the offsets of each token in the text."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from regard import recipe
from regard.errors import RecipeError
from regard.tokens.rows import Rows
from regard.tokens.vocabulary import BEGIN, END, PAD, SPECIAL_NAMES, UNKNOWN, Vocabulary

UNKNOWN_TEXT = "\ufffd"
"""The text of an unknown token: the replacement character."""

WORD = re.compile(r"\S+")
"""A white-space word, as in `str.split`."""

_SKIPPED = frozenset((PAD, BEGIN, END))
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Piece:
    """A token and the characters text[start:end] it stands for.

    `word` is the index of its word in `text.split()`. White space belongs to the next word, or to the last at the end.
    """

    token: int
    start: int
    end: int
    word: int


class Tokenizer(ABC):
    """Text to token indices and back. Encoding gives no special token but UNKNOWN, whatever the text contains."""

    kind: ClassVar[str]

    def __init__(self, settings: recipe.TokenizerSettings, vocabulary: Vocabulary) -> None:
        self.settings = settings
        self.vocabulary = vocabulary

    @classmethod
    @abstractmethod
    def train(cls, settings: recipe.TokenizerSettings, texts: Iterable[str]) -> Self:
        """Learns a vocabulary from texts, which may be read twice; the same texts give the same tokenizer."""

    @abstractmethod
    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        """The text of tokens. PAD, BEGIN, END and tags are skipped; an unknown token becomes the `unknown` of the
        settings or the replacement character. A token t ≥ `size` stands for beyond[t - size]."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What was learned, as plain JSON-able data."""

    @classmethod
    @abstractmethod
    def from_state(cls, settings: recipe.TokenizerSettings, state: dict[str, Any]) -> Self:
        """Restores a tokenizer from its `state`; ValueError, TypeError or KeyError if that is invalid."""

    @abstractmethod
    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each normalized text."""

    @abstractmethod
    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        """(token, start, end) of each token of a normalized text, in order."""

    def with_tags(self, tags: Sequence[str]) -> Self:
        """A copy whose vocabulary has exactly these tags. No text is ever encoded as a tag."""
        other = copy(self)
        other.vocabulary = Vocabulary(self.vocabulary.tokens, tags)
        return other

    @property
    def size(self) -> int:
        """Size of the vocabulary, special tokens included."""
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The tokens of one text."""
        return self._encode([normal(text, self.settings)])[0]

    def encode_within(self, text: str) -> list[int]:
        """The tokens of a text inside another, with no blank before it."""
        return self.encode(text)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; for subwords much faster than one by one."""
        return self._encode([normal(text, self.settings) for text in texts])

    def encode_rows(self, texts: Sequence[str]) -> Rows:
        """The same in one array."""
        return Rows.of(self.encode_all(texts))

    def sampled(self, rows: Rows, seeds: npt.NDArray[np.uint64], longest: int | None = None) -> Rows:
        """Other tokens for the same texts, with subwords sampled at random if the settings say so, each a function of
        the text's encoding and its seed. Tags, and texts that would exceed `longest` tokens, are left unchanged."""
        return rows

    def _texts(self, tokens: Iterable[int], beyond: Sequence[str]) -> Iterator[str]:
        """The text of each token that stands for text."""
        names, size, unknown = self.vocabulary, self.size, self.settings.unknown or UNKNOWN_TEXT
        return (
            unknown if token == UNKNOWN else names[token] if token < size else beyond[token - size]
            for token in tokens
            if token not in _SKIPPED and not names.is_tag(token)
        )

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that are encoded as UNKNOWN, in order."""
        plain = normal(text, self.settings)
        return [plain[start:end] for token, start, end in self._spans(plain) if token == UNKNOWN]

    def pieces(self, text: str) -> list[Piece]:
        """The tokens of one text with their offsets and words."""
        ends = [match.end() for match in WORD.finditer(text)]
        origins = _origins(text, self.settings)
        found, word = [], 0
        for token, start, end in self._spans(normal(text, self.settings)):
            if origins is not None:
                start, end = origins[start], origins[end - 1] + 1
            while word < len(ends) - 1 and start >= ends[word]:
                word += 1
            found.append(Piece(token, start, end, word))
        return found


def normal(text: str, settings: recipe.TokenizerSettings) -> str:
    """The text as tokenizers see it: lower-cased if the settings say so; lone surrogates replaced."""
    text = text.lower() if settings.lowercase else text
    return text if text.isascii() else _SURROGATES.sub(UNKNOWN_TEXT, text)


def room(settings: recipe.TokenizerSettings) -> int:
    """Capacity of the vocabulary besides the special tokens."""
    if settings.size <= len(SPECIAL_NAMES):
        raise RecipeError(
            f"tokens: size = {settings.size} leaves no room beside the {len(SPECIAL_NAMES)} special tokens; "
            "set it to the number of different tokens the vocabulary may have, such as 8000"
        )
    return settings.size - len(SPECIAL_NAMES)


def _origins(text: str, settings: recipe.TokenizerSettings) -> list[int] | None:
    """The original index of each character of the normalized text; None if they are the same.

    Lower-casing can lengthen a text: capital I with a dot above becomes two characters.
    """
    if not settings.lowercase or len(text.lower()) == len(text):
        return None
    return [place for place, character in enumerate(text) for _ in character.lower()]
