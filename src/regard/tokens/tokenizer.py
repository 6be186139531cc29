"""What every tokenizer can do: text to token indices and back, with the place in the text of each token."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from regard import recipe
from regard.tokens.vocabulary import BEGIN, END, PAD, UNKNOWN, Vocabulary

UNKNOWN_TEXT = "\ufffd"
"""What an unknown token is decoded to: the replacement character."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_WORDS = re.compile(r"\S+")


@dataclass(frozen=True)
class Piece:
    """A token and the characters text[start:end] it stands for.

    `word` is the index of the white-space word it belongs to, as counted by `text.split()`. White space belongs to
    the word after it, and at the end of the text to the last word.
    """

    token: int
    start: int
    end: int
    word: int


class Tokenizer(ABC):
    """Text to token indices and back. Indices never include the special tokens, except UNKNOWN."""

    kind: ClassVar[str]
    settings: recipe.Tokenizer
    vocabulary: Vocabulary

    @classmethod
    @abstractmethod
    def train(cls, settings: recipe.Tokenizer, texts: Iterable[str]) -> Self:
        """Learns a vocabulary from texts, which may be iterated over twice; the same texts give the same tokenizer."""

    @abstractmethod
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; much faster than one by one."""

    @abstractmethod
    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens. PAD, BEGIN and END are skipped; an unknown token becomes the replacement character."""

    @abstractmethod
    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Token, first and last-plus-one character of each token, in order of the text."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What was learned, as plain JSON-able data."""

    @classmethod
    @abstractmethod
    def from_state(cls, settings: recipe.Tokenizer, state: dict[str, Any]) -> Self:
        """The tokenizer that gave `state`."""

    @property
    def size(self) -> int:
        """Entries of the vocabulary, special ones included."""
        return len(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The tokens of one text."""
        return self.encode_all([text])[0]

    def encode_sampled(self, text: str, rng: np.random.Generator) -> list[int]:
        """The tokens of one text with subwords drawn at random, where the settings say so."""
        return self.encode(text)

    def pieces(self, text: str) -> list[Piece]:
        """The tokens of one text with their places in it and the words they belong to."""
        ends = [match.end() for match in _WORDS.finditer(text)]
        found, word = [], 0
        for token, start, end in self.spans(text):
            while word < len(ends) - 1 and start >= ends[word]:
                word += 1
            found.append(Piece(token, start, end, word))
        return found
