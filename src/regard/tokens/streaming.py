"""Tokens that come one by one become text as they come."""

from codecs import getincrementaldecoder
from collections.abc import Sequence

from regard.tokens.bytes import Bytes
from regard.tokens.tokenizer import Tokenizer
from regard.tokens.vocabulary import END


class TextStream:
    """Gives for each token the text that it adds; END is the end of a line. All pieces together are the text that the
    tokens stand for, each line of it as the tokenizer decodes it.

    `before` are tokens that have been shown already, and `beyond` the text of tokens beyond the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = (), beyond: Sequence[str] = ()) -> None:
        self._tokenizer, self._beyond = tokenizer, beyond
        self._shown: list[int] = [token for token in before[-1:] if token != END]
        """The last token that is shown, if it is of this line: how the next one reads may depend on it."""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        """Knows the bytes that are no whole character yet."""

    def add(self, token: int) -> str:
        """The text that another token adds; nothing, as long as a character is not whole."""
        if token == END:
            self._shown = []
            return self.rest() + "\n"
        if isinstance(self._tokenizer, Bytes):
            return self._decoder.decode(self._tokenizer.raw([token]))
        decode, before = self._tokenizer.decode, self._shown
        self._shown = [token]
        return decode([*before, token], self._beyond)[len(decode(before, self._beyond)) :]

    def rest(self) -> str:
        """What is left of an unfinished character; to be asked for at the end."""
        left = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return left
