"""Tokenizes the texts of a corpus on disk; drops or cuts those that are too long, and counts."""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from regard.data.cache import RaggedWriter, TextPairs, write_numbers
from regard.tokens import UNKNOWN, Tokenizer
from regard.tokens.rows import Rows

Tokenizers = tuple[Tokenizer, Tokenizer]
"""Of source and target; the same object if they share a vocabulary."""

_AT_ONCE = 4096
"""Pairs tokenized together."""


@dataclass
class Tally:
    """Counts of tokenization, for source and target."""

    tokens: list[int] = field(default_factory=lambda: [0, 0])
    unknown: list[int] = field(default_factory=lambda: [0, 0])
    over_long: list[int] = field(default_factory=list)
    """Indices of the texts that had too many tokens."""
    pairs: int = 0
    """Pairs written."""

    def count(self, rows: Rows) -> None:
        """Counts tokens; every other row is a target."""
        side = np.repeat(np.arange(len(rows)) % 2, rows.lengths)
        for total, which in ((self.tokens, side), (self.unknown, side[rows.values == UNKNOWN])):
            for place, more in enumerate(np.bincount(which, minlength=2).tolist()):
                total[place] += more


def tokenize(
    folder: Path,
    texts: TextPairs,
    tokenizers: Tokenizers,
    longest: int,
    over_long: Literal["drop", "cut", "refuse"],
    on_progress: Callable[[int], None],
    tags: Sequence[int] = (),
) -> Tally:
    """Writes the tokens of texts into the folder of these texts, to be read by `TokenPairs`; the `tags` are one token
    for each source, put before it."""
    tally, places = Tally(), array("I")
    small = max(one.size for one in tokenizers) <= np.iinfo(np.uint16).max
    with RaggedWriter(folder, "tokens", np.uint16 if small else np.uint32) as writer:
        for start in range(0, len(texts), _AT_ONCE):
            stop = min(start + _AT_ONCE, len(texts))
            source, target = (one.encode_rows(texts.some(start, stop, side)) for side, one in enumerate(tokenizers))
            source = source.after(tags[start:stop]) if tags else source
            too_long = np.maximum(source.lengths, target.lengths) > longest
            tally.over_long += (start + np.flatnonzero(too_long)).tolist()
            kept = np.flatnonzero(~too_long | (over_long == "cut"))
            places.extend((start + kept).tolist())
            # Each source is followed by its target.
            order = np.stack([kept, kept + len(source)], axis=1).ravel()
            rows = Rows.joined(source, target).picked(order, longest)
            writer.extend(rows)
            tally.count(rows)
            on_progress(stop)
    write_numbers(folder, "places", places)
    tally.pairs = len(places)
    return tally
