"""Base of word and character tokenizers: a vocabulary of the most frequent units of the text."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from regard import recipe
from regard.tokens.tokenizer import Tokenizer, normal, room
from regard.tokens.vocabulary import Vocabulary


class Listed(Tokenizer):
    """Each unit of a text is a token, unknown if not in the vocabulary."""

    between: ClassVar[str]
    """The separator between units in decoded text."""

    @staticmethod
    @abstractmethod
    def split(text: str) -> Sequence[str]:
        """The units of a text."""

    @classmethod
    def train(cls, settings: recipe.TokenizerSettings, texts: Iterable[str]) -> Self:
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(cls.split(normal(text, settings)))
        # The text's own marker of unknown words is unknown itself.
        counts.pop(settings.unknown, None)
        return cls(settings, Vocabulary(frequent(counts, settings)))

    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        return self.between.join(self._texts(tokens, beyond))

    def state(self) -> dict[str, Any]:
        return {"tokens": list(self.vocabulary.tokens)}

    @classmethod
    def from_state(cls, settings: recipe.TokenizerSettings, state: dict[str, Any]) -> Self:
        return cls(settings, Vocabulary(state["tokens"]))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.vocabulary.find_all(self.split(text)) for text in texts]


def frequent(counts: Counter[str], settings: recipe.TokenizerSettings) -> list[str]:
    """Tokens that occur at least `least` times, most frequent first, up to the size of the vocabulary."""
    enough = [(-count, token) for token, count in counts.items() if count >= settings.least]
    return [token for _, token in sorted(enough)[: room(settings)]]
