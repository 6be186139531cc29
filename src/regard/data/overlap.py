"""Development and test text that occurs in the training text, where scores say little about new text.

One hash of eight bytes is kept for each training text.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from regard.data.examples import Split
from regard.data.report import Finding
from regard.tokens.segmentation import has_no_blanks

PLACES = 3
"""Maximum number of places in a finding."""
LEAST_WORDS = 4
"""Shorter texts ("Thank you .") repeat by nature and do not count."""
LEAST_CHARACTERS = 8
"""The same where there are no spaces between words."""

Placed = tuple[str, str]
"""A text and its place."""


def find_overlap(parts: Mapping[Split, Iterable[Placed]], what: str) -> Iterator[Finding]:
    """A finding for each other part with texts that are in the training text too; `what` they are, in the plural."""
    if "train" not in parts or len(parts) == 1:
        return
    known = np.fromiter((each for each, _ in _hashes(parts["train"])), np.int64)
    known.sort()
    hashes = known.data  # whose items are read faster than those of an array
    for split, texts in parts.items():
        if split == "train":
            continue
        count, total, places = 0, 0, list[str]()
        for each, place in _hashes(texts):
            total += 1
            index = bisect_left(hashes, each)
            if index < len(hashes) and hashes[index] == each:
                count += 1
                if count <= PLACES:
                    places.append(place)
        if count:
            share = f"{100 * count / total:.1f} % of those with {LEAST_WORDS} words or more"
            said = f"{what} found in the training text too ({share})"
            yield Finding("overlap with train", split, count, said, "kept", places=tuple(places))


def _hashes(texts: Iterable[Placed]) -> Iterator[tuple[int, str]]:
    """The hash and the place of each text that counts."""
    for text, place in texts:
        words = text.split()
        if len(words) >= LEAST_WORDS or (len(text) >= LEAST_CHARACTERS and has_no_blanks(text)):
            yield hash(" ".join(words)), place
