"""Byte pair encoding on characters (Sennrich et al. 2016)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from tokenizers import models

from regard import recipe
from regard.tokens.dropout import LETTER, NUMBER, SPACE, WHITE, Merges
from regard.tokens.merging import learn_merges
from regard.tokens.rows import Rows
from regard.tokens.subwords import UNREACHABLE, Subwords
from regard.tokens.vocabulary import UNKNOWN, Vocabulary


class BPE(Subwords):
    """Characters merged into ever longer subwords, the most frequent pair first."""

    kind = "bpe"

    def __init__(
        self, settings: recipe.TokenizerSettings, alphabet: Sequence[str], merges: Sequence[tuple[str, str]]
    ) -> None:
        # Two merges may make the same token; the vocabulary has it once.
        vocabulary = Vocabulary(list(dict.fromkeys([*alphabet, *(left + right for left, right in merges)])))
        indices = dict(zip(vocabulary.tokens, vocabulary.find_all(vocabulary.tokens), strict=True))
        if any(left not in indices or right not in indices for left, right in merges):
            raise ValueError("a merge of tokens that are not in the vocabulary")
        indices |= {name: index for index, name in enumerate(UNREACHABLE)}
        model = models.BPE(vocab=indices, merges=list(merges), unk_token=UNREACHABLE[UNKNOWN])
        super().__init__(settings, vocabulary, model)
        self._alphabet = list(alphabet)
        self._merges = list(merges)
        self._sampler: Merges | None = None

    @classmethod
    def _learn(cls, settings: recipe.TokenizerSettings, alphabet: Sequence[str], units: Counter[str]) -> Self:
        room = settings.size - len(UNREACHABLE)
        # One more than there is room for: the line break that replaces rare characters is not in the vocabulary.
        merges = learn_merges(units, room + 1, max(2, settings.least))
        return cls(settings, alphabet, merges[: max(0, room - len(alphabet))])

    def sampled(self, rows: Rows, seeds: npt.NDArray[np.uint64], longest: int | None = None) -> Rows:
        """Other tokens for the same texts, by merges skipped at random (BPE dropout, Provilkov et al. 2020)."""
        if not self.settings.dropout:
            return rows
        if self._sampler is None:
            self._sampler = self._build_sampler()
        return self._sampler.sample(rows, seeds, longest)

    def _build_sampler(self) -> Merges:
        find, texts = self.vocabulary.find, self.vocabulary.tokens
        pairs = ((find(left), find(right), find(left + right)) for left, right in self._merges)
        table = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(pairs)}
        kinds = {character: self._kind(character) for character in set("".join(texts))}
        special = len(UNREACHABLE)
        pieces = [*([token] for token in range(special)), *(self.vocabulary.find_all(text) for text in texts)]
        edges = [*[(WHITE, WHITE)] * special, *((kinds[text[0]], kinds[text[-1]]) for text in texts)]
        return Merges(table, pieces, edges, self.settings.dropout)

    def _kind(self, character: str) -> int:
        """The class of a character with respect to unit boundaries."""

        def units(text: str) -> int:
            return len(self._library.pre_tokenizer.pre_tokenize_str(text))

        if character == " ":
            return SPACE
        if units("a" + character) == 1:
            return LETTER
        if units(" " + character) == 2:
            return WHITE
        return ord(character) if units(2 * character) == 1 else NUMBER

    def state(self) -> dict[str, Any]:
        return {"alphabet": self._alphabet, "merges": [list(merge) for merge in self._merges]}

    @classmethod
    def from_state(cls, settings: recipe.TokenizerSettings, state: dict[str, Any]) -> Self:
        return cls(settings, state["alphabet"], [(left, right) for left, right in state["merges"]])
