"""Tags before sources: one token each for the language to write."""

from collections.abc import Sequence

from regard.tokens import Tokenizer


def encode_tagged(tokenizer: Tokenizer, texts: Sequence[str], tags: Sequence[str]) -> list[list[int]]:
    """The tokens of sources, each after its tag; an empty tag adds nothing."""
    rows = tokenizer.encode_all(texts)
    return [[tokenizer.vocabulary.tag(tag), *row] if tag else row for tag, row in zip(tags, rows, strict=True)]
