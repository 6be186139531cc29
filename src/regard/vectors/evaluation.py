"""Intrinsic evaluation of vectors, by files of analogies and of rated pairs."""

from collections.abc import Sequence
from pathlib import Path

from regard.disk import each_line
from regard.vectors.analogies import AnalogyScore, answer_analogies
from regard.vectors.folding import Folded
from regard.vectors.pairs import PairScore, rate_pairs
from regard.vectors.vectors import Vectors


def evaluate(
    vectors: Vectors,
    files: Sequence[str | Path],
    *,
    method: str = "additive",
    frequent: int | None = None,
    exact: bool = False,
) -> list[AnalogyScore | PairScore]:
    """Scores vectors on files of analogies (which begin with a line `: name`) and of rated pairs."""
    words = Folded(vectors, exact=exact, frequent=frequent)
    return [
        answer_analogies(words, path, method=method) if is_analogies(path) else rate_pairs(words, path)
        for path in map(Path, files)
    ]


def is_analogies(path: Path) -> bool:
    """Whether the first non-empty line of a file is the name of a category."""
    filled = (line for line in each_line(path) if line.strip())
    return next(filled, "").startswith(":")
