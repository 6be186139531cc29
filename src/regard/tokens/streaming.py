"""Decoding a stream of tokens into text, token by token."""

from codecs import getincrementaldecoder
from collections.abc import Sequence

from regard.tokens.bytes import Bytes
from regard.tokens.tokenizer import Tokenizer
from regard.tokens.vocabulary import END


class TextStream:
    """Returns for each token the text that it adds; END is the end of a line. Joined, these are the decoded lines.

    `before` are tokens already shown; `beyond` is the text of tokens outside the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = (), beyond: Sequence[str] = ()) -> None:
        self._tokenizer, self._beyond = tokenizer, beyond
        self._shown: list[int] = [token for token in before[-1:] if token != END]
        """The last token shown on this line, if any: the text of the next may depend on it."""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        """Buffers the bytes of an incomplete character."""

    def add(self, token: int) -> str:
        """The text that a token adds; empty while a character is incomplete."""
        if token == END:
            self._shown = []
            return self.rest() + "\n"
        if isinstance(self._tokenizer, Bytes):
            return self._decoder.decode(self._tokenizer.raw([token]))
        decode, before = self._tokenizer.decode, self._shown
        self._shown = [token]
        return decode([*before, token], self._beyond)[len(decode(before, self._beyond)) :]

    def rest(self) -> str:
        """Flushes an incomplete character; call it at the end."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
