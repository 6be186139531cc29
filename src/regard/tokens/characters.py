"""Characters, that is, Unicode code points."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard import recipe
from regard.tokens.tokenizer import SKIPPED, UNKNOWN_TEXT, Tokenizer, normal
from regard.tokens.vocabulary import UNKNOWN, Vocabulary
from regard.tokens.words import frequent


class Characters(Tokenizer):
    """Each character is a token. Decoding gives the text back if all its characters were in the training text."""

    kind = "characters"

    @classmethod
    def train(cls, settings: recipe.Tokenizer, texts: Iterable[str]) -> Self:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(normal(text, settings))
        return cls(settings, Vocabulary(frequent(counts, settings)))

    def decode(self, tokens: Iterable[int]) -> str:
        names = self.vocabulary
        return "".join(UNKNOWN_TEXT if token == UNKNOWN else names[token] for token in tokens if token not in SKIPPED)

    def state(self) -> dict[str, Any]:
        return {"tokens": list(self.vocabulary.tokens)}

    @classmethod
    def from_state(cls, settings: recipe.Tokenizer, state: dict[str, Any]) -> Self:
        return cls(settings, Vocabulary(state["tokens"]))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        find = self.vocabulary.find
        return [[find(character) for character in text] for text in texts]

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(self.vocabulary.find(character), place, place + 1) for place, character in enumerate(text)]
