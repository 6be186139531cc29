"""Byte pair encoding on characters (Sennrich et al. 2016)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from tokenizers import models, trainers

from regard import recipe
from regard.tokens.dropout import Merges
from regard.tokens.subwords import UNREACHABLE, Subwords, learn
from regard.tokens.tokenizer import normal
from regard.tokens.vocabulary import UNKNOWN, Vocabulary


class BPE(Subwords):
    """Characters merged into ever longer subwords, the most frequent pair first."""

    kind = "bpe"

    def __init__(self, settings: recipe.Tokenizer, alphabet: Sequence[str], merges: Sequence[tuple[str, str]]) -> None:
        # Two merges may make the same token in two ways; it stands once in the vocabulary.
        vocabulary = Vocabulary(list(dict.fromkeys([*alphabet, *(left + right for left, right in merges)])))
        indices = {token: vocabulary.find(token) for token in vocabulary.tokens}
        if any(left not in vocabulary or right not in vocabulary for left, right in merges):
            raise ValueError("a merge of tokens that are not in the vocabulary")
        indices |= {name: index for index, name in enumerate(UNREACHABLE)}
        model = models.BPE(vocab=indices, merges=list(merges), unk_token=UNREACHABLE[UNKNOWN])
        super().__init__(settings, vocabulary, model)
        self._alphabet = list(alphabet)
        self._merges = list(merges)
        pairs = ((indices[left], indices[right], indices[left + right]) for left, right in merges)
        table = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(pairs)}
        self._sampler = Merges(table, vocabulary.find, self._units, settings.dropout)

    @classmethod
    def _learn(cls, settings: recipe.Tokenizer, alphabet: Sequence[str], texts: Iterable[str]) -> Self:
        room = settings.size - len(UNREACHABLE)
        trainer = trainers.BpeTrainer(
            # One more than there is room for, as the line break that stands for rare characters is taken out again.
            vocab_size=room + 1,
            min_frequency=max(2, settings.least),
            show_progress=False,
            special_tokens=[],
        )
        learned = learn(models.BPE(), trainer, texts)
        merges = [(left, right) for left, right in learned["merges"]][: max(0, room - len(alphabet))]
        return cls(settings, alphabet, merges)

    def encode_sampled(self, texts: Sequence[str], seeds: npt.NDArray[np.uint64]) -> list[list[int]]:
        """The tokens of each text with merges skipped at random (BPE dropout, Provilkov et al. 2020)."""
        return self._sampler.sample(texts, seeds) if self.settings.dropout else self.encode_all(texts)

    def _units(self, text: str) -> list[str]:
        """What merges never cross."""
        if not text:
            return []
        return [unit for unit, _ in self._library.pre_tokenizer.pre_tokenize_str(" " + normal(text, self.settings))]

    def state(self) -> dict[str, Any]:
        return {"alphabet": self._alphabet, "merges": [list(merge) for merge in self._merges]}

    @classmethod
    def from_state(cls, settings: recipe.Tokenizer, state: dict[str, Any]) -> Self:
        return cls(settings, state["alphabet"], [(left, right) for left, right in state["merges"]])
