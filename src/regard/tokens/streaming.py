"""Tokens that come one by one become text as they come."""

from collections.abc import Sequence

from regard.tokens.tokenizer import UNKNOWN_TEXT, Tokenizer
from regard.tokens.vocabulary import END, UNKNOWN

LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, at most."""


class TextStream:
    """Gives for each token the text that it adds; END is the end of a line. All pieces together are the text that the
    tokens stand for, each line of it as the tokenizer decodes it.

    `before` are tokens that have been shown already, and `beyond` the text of tokens beyond the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = (), beyond: Sequence[str] = ()) -> None:
        self._tokenizer, self._beyond = tokenizer, beyond
        self._shown: list[int] = []
        """The last token that is shown, if it is of this line: what comes next may depend on it."""
        self._waiting: list[int] = []
        """Tokens that are no whole character yet."""
        for token in before[-1:]:
            self._shown = [] if token == END else [token]

    def add(self, token: int) -> str:
        """The text that another token adds; nothing, as long as a character is not whole."""
        if token == END:
            return self.rest() + "\n"
        self._waiting.append(token)
        piece = self._piece()
        unfinished = piece.endswith(UNKNOWN_TEXT) and token != UNKNOWN and self._tokenizer.kind == "bytes"
        if unfinished and len(self._waiting) < LONGEST_CHARACTER:
            return ""
        self._shown, self._waiting = [token], []
        return piece

    def rest(self) -> str:
        """What is left of an unfinished character; to be asked for at the end."""
        piece = self._piece()
        self._shown, self._waiting = [], []
        return piece

    def _piece(self) -> str:
        if not self._waiting:
            return ""
        decode, beyond = self._tokenizer.decode, self._beyond
        known = decode(self._shown, beyond)
        return decode([*self._shown, *self._waiting], beyond)[len(known) :]
