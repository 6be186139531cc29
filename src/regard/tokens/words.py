"""Words split at white space."""

from collections.abc import Sequence

from regard.tokens.listed import Listed
from regard.tokens.tokenizer import WORD


class Words(Listed):
    """Each white-space word is a token. Decoding puts a single space between words."""

    kind = "words"
    between = " "

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return text.split()

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(self.vocabulary.find(word[0]), word.start(), word.end()) for word in WORD.finditer(text)]
