"""What stands beside tokens in an inspection."""

from collections.abc import Sequence

from regard.data import Span
from regard.inspect import END_LABEL
from regard.tokens import END, Tokenizer


def labels_of(tokenizer: Tokenizer, text: str) -> tuple[str, ...]:
    """A label for every token of a text and for END: the characters that it covers, or its name where it covers
    none."""
    pieces = tokenizer.pieces(text)
    return (*(text[piece.start : piece.end] or tokenizer.vocabulary[piece.token] for piece in pieces), END_LABEL)


def words_of(tokenizer: Tokenizer, text: str, first: int = 0) -> tuple[int | None, ...]:
    """The white-space word that every token is a piece of, counted from `first`, and None for END."""
    return (*(first + piece.word for piece in tokenizer.pieces(text)), None)


def token_name(tokenizer: Tokenizer, beyond: Sequence[str], token: int) -> str:
    """The label of a token by itself; `beyond` are the words of those beyond the vocabulary."""
    if token == END:
        return END_LABEL
    return tokenizer.vocabulary[token] if token < tokenizer.size else beyond[token - tokenizer.size]


def touched(tokenizer: Tokenizer, text: str, span: Span, first: int) -> list[int]:
    """The positions of the tokens that cover some of these characters, the text's first token being at `first`."""
    pieces = enumerate(tokenizer.pieces(text), start=first)
    return [place for place, piece in pieces if piece.start < span[1] and span[0] < piece.end]
