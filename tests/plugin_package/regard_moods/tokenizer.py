"""A tokenizer of one's own: the parts of words with hyphens."""

from collections.abc import Sequence

from regard.tokens.listed import Listed


class Hyphens(Listed):
    kind = "hyphens"
    between = "-"

    @staticmethod
    def split(text: str) -> Sequence[str]:
        return [part for part in text.split("-") if part]

    def _spans(self, text: str) -> list[tuple[int, int, int]]:
        spans, start = [], 0
        for part in text.split("-"):
            if part:
                spans.append((self.vocabulary.find(part), start, start + len(part)))
            start += len(part) + 1
        return spans
