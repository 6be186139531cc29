"""Alignments as one HTML file that fetches nothing, to page through: lines between words, and probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.errors import UsageError
from regard.inspect.alignment import Alignment
from regard.inspect.figure import write_text
from regard.inspect.inspection import Links
from regard.inspect.labels import readable
from regard.inspect.page import assembled
from regard.inspect.pharaoh import GoldLinks

DIGITS = 4
LEAST = 0.005
"""Probabilities below this are left out, which keeps the file small; the page shows them as 0."""
MOST_PAIRS = 1000
"""A page with more would be slow to open."""


@dataclass(frozen=True)
class ShownPair:
    """A pair as the page shows it."""

    source: Sequence[str]
    target: Sequence[str]
    alignment: Alignment
    links: Links
    """The chosen links; `alignment` has the links of each direction and all probabilities."""


def save_alignments_page(
    pairs: Sequence[ShownPair], path: str | Path, *, gold: Sequence[GoldLinks] | None = None, title: str
) -> None:
    """Writes the page into a file."""
    write_text(alignments_page(pairs, gold=gold, title=title), path)


def alignments_page(
    pairs: Sequence[ShownPair], *, gold: Sequence[GoldLinks] | None = None, title: str = "Word alignments"
) -> str:
    """The page; with gold, true links are framed, and pairs with errors can be looked at alone."""
    if not pairs:
        raise UsageError("there is nothing to show; give at least one pair")
    data = {
        "pairs": [_shown(pair, gold[place] if gold else None) for place, pair in enumerate(pairs)],
        "both": pairs[0].alignment.backward is not None,
        "gold": gold is not None,
    }
    return assembled("alignments", title, data)


def _shown(pair: ShownPair, gold: GoldLinks | None) -> dict[str, object]:
    probabilities, score = pair.alignment.probabilities, pair.alignment.score
    rows, columns = np.nonzero(probabilities >= LEAST)
    forward, backward = pair.alignment.directions
    return {
        "source": [readable(word) for word in pair.source],
        "target": [readable(word) for word in pair.target],
        "cells": [
            [int(column), int(row), round(float(probabilities[row, column]), DIGITS)]
            for row, column in zip(rows, columns, strict=True)
        ],
        "links": sorted(pair.links),
        "forward": sorted(forward),
        "backward": sorted(backward),
        "sure": sorted(gold.sure) if gold else [],
        "possible": sorted(gold.possible - gold.sure) if gold else [],
        # The score of a pair with an empty side is infinite, which JSON cannot express.
        "score": score if score is not None and math.isfinite(score) else None,
    }
