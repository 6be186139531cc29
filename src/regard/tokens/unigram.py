"""Unigram subwords (Kudo 2018)."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import tokenizers
from tokenizers import models, trainers

from regard import recipe
from regard.tokens.subwords import UNREACHABLE, Subwords
from regard.tokens.vocabulary import UNKNOWN, Vocabulary

_DIGITS = 6
_PENALTY = 1e-4
"""Step between the scores of the characters that the library's trainer adds at the end."""


class Unigram(Subwords):
    """Subwords with probabilities; a word is split in its most probable way."""

    kind = "unigram"

    def __init__(self, settings: recipe.TokenizerSettings, scores: Sequence[tuple[str, float]]) -> None:
        entries = [*((name, 0.0) for name in UNREACHABLE), *scores]
        model = models.Unigram(entries, unk_id=UNKNOWN, byte_fallback=False)
        super().__init__(settings, Vocabulary([token for token, _ in scores]), model)
        self._scores = list(scores)

    @classmethod
    def _learn(cls, settings: recipe.TokenizerSettings, alphabet: Sequence[str], units: Counter[str]) -> Self:
        trainer = trainers.UnigramTrainer(
            vocab_size=settings.size - len(UNREACHABLE) + 2,
            show_progress=False,
            unk_token=UNREACHABLE[UNKNOWN],
            special_tokens=[UNREACHABLE[UNKNOWN]],
        )
        library = tokenizers.Tokenizer(models.Unigram())  # no pre-tokenizer: units are already split
        library.train_from_iterator(units.elements(), trainer)
        learned = json.loads(library.to_str())["model"]["vocab"]
        return cls(settings, _reproducible(dict(learned), alphabet, settings.size - len(UNREACHABLE)))

    def state(self) -> dict[str, Any]:
        return {"scores": [[token, score] for token, score in self._scores]}

    @classmethod
    def from_state(cls, settings: recipe.TokenizerSettings, state: dict[str, Any]) -> Self:
        return cls(settings, [(token, float(score)) for token, score in state["scores"]])


def _reproducible(scores: dict[str, float], alphabet: Sequence[str], room: int) -> list[tuple[str, float]]:
    """The learned scores made reproducible, as the library's order of summation varies from run to run.

    Rounding fixes the sums. The characters that the trainer adds at the end have scores that depend on their order;
    they are rescored in the order of the alphabet.
    """
    known = {token: round(score, _DIGITS) for token, score in scores.items() if set(token) <= set(alphabet)}
    least = min(known.values(), default=0.0)
    added = [c for c in alphabet if c not in known or known[c] < least + _PENALTY * len(alphabet)]
    learned = sorted(((-score, token) for token, score in known.items() if token not in added))
    kept = [(token, -score) for score, token in learned[: room - len(added)]]
    return [*kept, *((character, round(least - _PENALTY * place, _DIGITS)) for place, character in enumerate(added))]
