"""Unknown-word replacement: an unknown token in an output becomes the source word that it was written for.

Where a model writes an unknown token, its attention is mostly on the word that it cannot write, often a name or a
number (Luong et al. 2015). With subwords and characters, it is an unknown character: it becomes the unknown character
of the source that got most attention, or if there is none, the token that did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.inspect import choose, watch
from regard.models.generator import Generator
from regard.tokens import UNKNOWN, Tokenizer
from regard.tokens.subwords import Subwords
from regard.tokens.words import Words


@dataclass(frozen=True)
class Written:
    """Tokens of an output, with the source that they were written for."""

    source: str
    read: Sequence[int]
    """The tokens of the source."""
    words: Sequence[int] | None
    """The target-side numbers of these, for a model that copies them."""
    tokens: tuple[int, ...]
    beyond: Sequence[str]
    """Words that have numbers beyond the target's vocabulary."""


def texts_of(
    model: Generator, reader: Tokenizer, writer: Tokenizer, every: Sequence[Written], unknown: str
) -> list[str]:
    """The text of each output; `unknown` is the setting `decode.unknown`."""
    rows: list[tuple[Sequence[int], Sequence[str]]] = [(one.tokens, one.beyond) for one in every]
    replaces = unknown == "replace" and model.cross_taps
    doubtful = [place for place, one in enumerate(every) if replaces and UNKNOWN in one.tokens]
    some = [every[place] for place in doubtful]
    copied = [one.words for one in some if one.words is not None]
    given = [_known(one, writer.size) for one in some]
    seen = watch(model, [one.read for one in some], given, words=copied or None) if some else []
    for place, one, arrays in zip(doubtful, some, seen, strict=True):
        weights = choose({name: array.values for name, array in arrays.items()})
        rows[place] = _replaced(reader, writer, one, weights)
    return [writer.decode(tokens, beyond) for tokens, beyond in rows]


def _known(one: Written, size: int) -> list[int]:
    """The tokens as the model reads them, with UNKNOWN for words outside its vocabulary."""
    known = max(size, *(word + 1 for word in one.words or (0,)))
    return [token if token < known else UNKNOWN for token in one.tokens]


def _replaced(
    reader: Tokenizer, writer: Tokenizer, one: Written, weights: np.ndarray
) -> tuple[tuple[int, ...], list[str]]:
    """The tokens with numbers of source words in place of unknown ones, and the text of these."""
    pieces = reader.pieces(one.source)
    before = len(one.read) - len(pieces)  # a tag, if there is one
    # Only tokens that it cannot read are ones that it cannot write, except words, whose vocabularies differ by side.
    likely = [] if isinstance(reader, Words) else [place for place, each in enumerate(pieces) if each.token == UNKNOWN]
    likely = likely or list(range(len(pieces)))
    tokens, beyond = list[int](), list(one.beyond)
    for place, token in enumerate(one.tokens):
        if token != UNKNOWN or not pieces:
            tokens.append(token)
            continue
        piece = pieces[max(likely, key=weights[place, before:].__getitem__)]
        tokens.append(writer.size + len(beyond))
        # A subword brings the space before it.
        is_subword = isinstance(reader, Subwords) and piece.token != UNKNOWN
        beyond.append(reader.vocabulary[piece.token] if is_subword else one.source[piece.start : piece.end])
    return tuple(tokens), beyond
