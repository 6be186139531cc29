"""The texts of a corpus become tokens on disk; what is too long is dropped or cut, and counted."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from regard.data.cache import RaggedWriter, TextPairs, write_numbers
from regard.tokens import UNKNOWN, Tokenizer

Tokenizers = tuple[Tokenizer, Tokenizer]
"""Of the source and of the target; one and the same object if they share a vocabulary."""

_AT_ONCE = 4096
"""Pairs tokenized together."""


@dataclass
class Tally:
    """What was counted while texts became tokens, of source and target."""

    tokens: list[int] = field(default_factory=lambda: [0, 0])
    unknown: list[int] = field(default_factory=lambda: [0, 0])
    over_long: list[int] = field(default_factory=list)
    """Indices of the texts that had too many tokens."""
    pairs: int = 0
    """Pairs written."""


def tokenize(
    folder: Path,
    texts: TextPairs,
    tokenizers: Tokenizers,
    longest: int,
    over_long: Literal["drop", "cut", "refuse"],
    on_progress: Callable[[int], None],
    tags: Sequence[int] = (),
) -> Tally:
    """Writes the tokens of texts into the folder of these texts, to be read by `TokenPairs`; the `tags` are tokens, one
    for each source to stand before it."""
    tally, places = Tally(), array("I")
    small = max(one.size for one in tokenizers) <= np.iinfo(np.uint16).max
    with RaggedWriter(folder, "tokens", np.uint16 if small else np.uint32) as writer:
        for start in range(0, len(texts), _AT_ONCE):
            some = range(start, min(start + _AT_ONCE, len(texts)))
            sides = zip(*(texts[index] for index in some), strict=True)
            encoded = [one.encode_all(list(side)) for one, side in zip(tokenizers, sides, strict=True)]
            if tags:
                encoded[0] = [[tags[index], *row] for index, row in zip(some, encoded[0], strict=True)]
            for index, *rows in zip(some, *encoded, strict=True):
                if max(map(len, rows)) > longest:
                    tally.over_long.append(index)
                    if over_long != "cut":
                        continue
                places.append(index)
                for side, row in enumerate(rows):
                    kept = row[:longest]
                    writer.append(kept)
                    tally.tokens[side] += len(kept)
                    tally.unknown[side] += kept.count(UNKNOWN)
            on_progress(some.stop)
    write_numbers(folder, "places", places)
    tally.pairs = len(places)
    return tally
