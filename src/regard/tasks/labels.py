"""Labels of tokens in an inspection, and the words that they are pieces of."""

from collections.abc import Sequence
from itertools import pairwise

from regard.inspect import END_LABEL
from regard.tokens import END, Tokenizer
from regard.tokens.segmentation import Span, Units, spans_of


def labels_of(tokenizer: Tokenizer, text: str) -> tuple[str, ...]:
    """A label for every token of a text and for END: the characters that it covers, or its name where it covers
    none."""
    pieces = tokenizer.pieces(text)
    return (*(text[piece.start : piece.end] or tokenizer.vocabulary[piece.token] for piece in pieces), END_LABEL)


def words_of(tokenizer: Tokenizer, text: str, first: int = 0) -> tuple[int | None, ...]:
    """The word that every token is a piece of, or the first of several, counted from `first`; None for END."""
    return (*(first + units[0] if units else None for units in units_of_tokens(tokenizer, text)), None)


def units_of_tokens(tokenizer: Tokenizer, text: str, units: Units = "auto") -> list[range]:
    """The words of a text that each token covers some of.

    Blanks belong to the word after them, and at the end of the text to the last. Text left out by a
    user's function belongs to no word.
    """
    spans = spans_of(text, units)
    unit_at = {place: unit for unit, span in enumerate(spans) for place in range(*span)}
    if spans and not callable(units):
        edges = [0, *(end for _, end in spans[:-1]), len(text)]
        unit_at = {place: unit for unit, edge in enumerate(pairwise(edges)) for place in range(*edge)}
    found = []
    for piece in tokenizer.pieces(text):
        # A token may cover nothing: the space that a subword tokenizer puts before a text.
        places = range(piece.start, max(piece.end, piece.start + 1))
        those = [unit_at[place] for place in places if place in unit_at]
        found.append(range(those[0], those[-1] + 1) if those else range(0))
    return found


def blocks_of(tokenizer: Tokenizer, text: str, units: Units) -> tuple[list[int | None], list[int]]:
    """Words that share a token form one block: the block of each token, None for END and for tokens of no word; and the
    block of each word."""
    covered = units_of_tokens(tokenizer, text, units)
    joined = {unit for each in covered for unit in each[1:]}
    blocks: list[int] = []
    for unit in range(len(spans_of(text, units))):
        blocks.append((blocks[-1] + (unit not in joined)) if blocks else 0)
    return [*(blocks[each[0]] if each else None for each in covered), None], blocks


def token_name(tokenizer: Tokenizer, beyond: Sequence[str], token: int) -> str:
    """The label of a token by itself; `beyond` are the words of those beyond the vocabulary."""
    if token == END:
        return END_LABEL
    return tokenizer.vocabulary[token] if token < tokenizer.size else beyond[token - tokenizer.size]


def touched(tokenizer: Tokenizer, text: str, span: Span, first: int) -> list[int]:
    """The positions of the tokens that cover some of these characters, the text's first token being at `first`."""
    pieces = enumerate(tokenizer.pieces(text), start=first)
    return [place for place, piece in pieces if piece.start < span[1] and span[0] < piece.end]
