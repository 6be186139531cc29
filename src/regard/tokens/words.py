"""Words split at white space."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard import recipe
from regard.tokens.tokenizer import SKIPPED, UNKNOWN_TEXT, Tokenizer, normal, room
from regard.tokens.vocabulary import UNKNOWN, Vocabulary

_WORD = re.compile(r"\S+")


class Words(Tokenizer):
    """Each white-space word is a token. Decoding puts one space between words, whatever stood there."""

    kind = "words"

    @classmethod
    def train(cls, settings: recipe.Tokenizer, texts: Iterable[str]) -> Self:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(normal(text, settings).split())
        return cls(settings, Vocabulary(frequent(counts, settings)))

    def decode(self, tokens: Iterable[int]) -> str:
        names = self.vocabulary
        return " ".join(UNKNOWN_TEXT if token == UNKNOWN else names[token] for token in tokens if token not in SKIPPED)

    def state(self) -> dict[str, Any]:
        return {"tokens": list(self.vocabulary.tokens)}

    @classmethod
    def from_state(cls, settings: recipe.Tokenizer, state: dict[str, Any]) -> Self:
        return cls(settings, Vocabulary(state["tokens"]))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        find = self.vocabulary.find
        return [[find(word) for word in text.split()] for text in texts]

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(self.vocabulary.find(word[0]), word.start(), word.end()) for word in _WORD.finditer(text)]


def frequent(counts: Counter[str], settings: recipe.Tokenizer) -> list[str]:
    """What occurs at least `least` times, the most frequent first, no more than there is room for."""
    enough = [(-count, token) for token, count in counts.items() if count >= settings.least]
    return [token for _, token in sorted(enough)[: room(settings)]]
