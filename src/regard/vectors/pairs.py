"""Evaluation by word pairs with human ratings of similarity."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.disk import each_line
from regard.errors import DataError
from regard.vectors.folding import Folded


@dataclass(frozen=True)
class RatedPair:
    """Two words and their rating."""

    first: str
    second: str
    rating: float


@dataclass(frozen=True)
class PairScore:
    """How well cosines agree with ratings."""

    file: str
    spearman: float | None
    """Rank correlation over the pairs of known words; None if all ratings or all cosines are equal."""
    pairs: int
    """Pairs that were compared."""
    unknown: int
    """Pairs with a word that has no vector; not compared."""
    conditions: str

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"kind": "pairs", **asdict(self)}


def read_pairs(path: Path) -> list[RatedPair]:
    """Lines of two words and a rating, separated by tabs, commas, semicolons or spaces.

    The rating is the first number after the words; other columns are ignored. A first line without a number is taken as
    a header; lines that begin with `#` are comments.
    """
    found: list[RatedPair] = []
    for number, line in enumerate(each_line(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line)
        rating = next((value for value in map(_number, fields[2:]) if value is not None), None)
        if rating is None and not found and number == 1 and len(fields) > 2:
            continue
        if rating is None:
            raise DataError(f"{path}:{number}: {line[:60]!r} is not two words and a number; fix or remove the line")
        found.append(RatedPair(fields[0], fields[1], rating))
    if not found:
        raise DataError(f"{path}: no pairs in this file; a line is two words and a number")
    return found


def rate_pairs(words: Folded, path: Path) -> PairScore:
    """Compares cosines with the ratings of a file by Spearman's rank correlation; ties get their mean rank."""
    pairs = read_pairs(path)
    places = [words.places([pair.first, pair.second]) for pair in pairs]
    known = [(place, pair.rating) for place, pair in zip(places, pairs, strict=True) if place is not None]
    cosines = [float(words.unit[place[0]] @ words.unit[place[1]]) for place, _ in known]
    case = "exact case" if words.exact else "lower case"
    return PairScore(
        path.name,
        spearman(cosines, [rating for _, rating in known]),
        len(known),
        len(pairs) - len(known),
        f"{case}, pairs with unknown words left out",
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The correlation of ranks; None if one side is constant."""
    from scipy.stats import rankdata

    one, other = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def _fields(line: str) -> list[str]:
    for separator in "\t,;":
        if separator in line:
            return [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    return line.split()


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
