"""UTF-8 bytes as tokens: nothing is unknown, nothing is learned."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from regard import recipe
from regard.errors import RecipeError
from regard.tokens.tokenizer import UNKNOWN_TEXT, Tokenizer, room
from regard.tokens.vocabulary import SPECIAL_NAMES, UNKNOWN, Vocabulary

_FIRST = len(SPECIAL_NAMES)


class Bytes(Tokenizer):
    """Each UTF-8 byte is a token. Decoding restores any text; bytes that are not UTF-8 become U+FFFD."""

    kind = "bytes"

    def __init__(self, settings: recipe.TokenizerSettings) -> None:
        super().__init__(settings, Vocabulary([f"<{byte:02X}>" for byte in range(256)]))

    @classmethod
    def train(cls, settings: recipe.TokenizerSettings, texts: Iterable[str]) -> Self:
        if room(settings) < 256:
            raise RecipeError(
                f"tokens: size = {settings.size} is too small for kind = 'bytes', which needs {256 + _FIRST}; "
                f"set size to {256 + _FIRST}"
            )
        return cls(settings)

    def decode(self, tokens: Iterable[int], beyond: Sequence[str] = ()) -> str:
        return self.raw(tokens).decode("utf-8", errors="replace")

    def raw(self, tokens: Iterable[int]) -> bytes:
        """The bytes of tokens, which may end inside a character."""
        unknown = UNKNOWN_TEXT.encode()
        parts = [
            unknown if token == UNKNOWN else bytes((token - _FIRST,))
            for token in tokens
            if token == UNKNOWN or _FIRST <= token < _FIRST + 256
        ]
        return b"".join(parts)

    def state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_state(cls, settings: recipe.TokenizerSettings, state: dict[str, Any]) -> Self:
        return cls(settings)

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[byte + _FIRST for byte in text.encode()] for text in texts]

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        return [
            (byte + _FIRST, place, place + 1) for place, character in enumerate(text) for byte in character.encode()
        ]
