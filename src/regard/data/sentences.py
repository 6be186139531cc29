"""Sentences of words as a model reads them: an index for each word, and the characters of each distinct one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.batch import Padded, pad_rows
from regard.data.fill_rows import Indices
from regard.tokens.rows import Rows
from regard.tokens.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class Sentences(Padded):
    """A batch of words by number.

    Each different form of a batch is spelled once: `forms` says which row of `spellings` has the characters of a word.
    Both are None if characters are not read. The first row is empty, for padding.
    """

    forms: Int[Tensor, "B S"] | None = None
    spellings: Padded | None = None

    def select(self, rows: Int[Tensor, " N"]) -> Self:
        forms = None if self.forms is None else self.forms[rows]
        return replace(self, tokens=self.tokens[rows], lengths=self.lengths[rows], forms=forms)

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        tokens, lengths = function(self.tokens), function(self.lengths)
        if self.forms is None or self.spellings is None:
            return replace(self, tokens=tokens, lengths=lengths)
        forms, spellings = function(self.forms), self.spellings.map(function)
        return replace(self, tokens=tokens, lengths=lengths, forms=forms, spellings=spellings)


@dataclass(frozen=True)
class NumberedSentences:
    """Many sentences, from which batches are picked without iterating over words."""

    words: Rows
    forms: Rows | None = None
    """Each word's index among the distinct words of all sentences, from 1."""
    spellings: Rows | None = None
    """The characters of each distinct word; index 0 has none."""

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], vocabulary: WordVocabulary) -> Self:
        return cls(*vocabulary.encode(sentences))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Words of each sentence."""
        return self.words.lengths

    def pick(self, chosen: Indices, shape: tuple[int, int] | None = None) -> Sentences:
        """A batch of some sentences, filled up with empty ones to a shape of (rows, width) if one is given."""
        words = pad_rows(self.words, chosen, shape)
        if self.forms is None or self.spellings is None:
            return Sentences(words.tokens, words.lengths)
        forms = pad_rows(self.forms, chosen, shape).tokens.numpy()
        # Zero, for padding, is always among them: a batch without padding has the same layout.
        used, places = np.unique(np.append(0, forms), return_inverse=True)
        numbers = torch.from_numpy(places[1:].reshape(forms.shape))
        filled = None if shape is None else self._filled(len(used), forms.size)
        return Sentences(words.tokens, words.lengths, numbers, pad_rows(self.spellings, used, filled))

    def _filled(self, forms: int, most: int) -> tuple[int, int]:
        """A shape for the spellings, one of four for each shape of sentences."""
        assert self.spellings is not None
        quarter = -(-(most + 1) // 4)
        return -(-forms // quarter) * quarter, int(self.spellings.lengths.max())
