"""Characters, that is, Unicode code points."""

from collections.abc import Sequence

from regard.tokens.listed import Listed


class Characters(Listed):
    """Each character is a token. Decoding restores the text if all its characters are in the vocabulary."""

    kind = "characters"
    between = ""

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return text

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        return [(self.vocabulary.find(character), place, place + 1) for place, character in enumerate(text)]
