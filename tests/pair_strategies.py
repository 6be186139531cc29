"""Small corpora for tests of data: in memory, and in files."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from regard.data import Pair
from regard.recipe import Data
from regard.tokens.rows import Rows

TokenPair = tuple[list[int], list[int]]

token_rows = st.lists(st.integers(4, 30), max_size=12)
token_pairs = st.lists(st.tuples(token_rows, token_rows), min_size=1, max_size=60)


class ListedPairs:
    """Token pairs held in a list; the text of each is its tokens, written as letters."""

    def __init__(self, pairs: Sequence[TokenPair]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return np.array([[len(source), len(target)] for source, target in self.pairs], dtype=np.int32).reshape(-1, 2)

    def sides(self, examples: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
        chosen = [self.pairs[example] for example in examples]
        return Rows.of([source for source, _ in chosen]), Rows.of([target for _, target in chosen])

    def text(self, index: int) -> tuple[str, str]:
        source, target = ("".join(chr(ord("a") + token - 4) for token in side) for side in self.pairs[index])
        return source, target


def write(path: Path, content: bytes | str) -> str:
    """A file with this content, packed if its name says so; its path as a recipe has it."""
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def two_files(folder: Path, pairs: Sequence[tuple[str, str]] | Sequence[Pair], name: str = "train") -> list[str]:
    """Pairs in two files of lines."""
    rows = [(pair.source, pair.target) if isinstance(pair, Pair) else pair for pair in pairs]
    return [
        write(folder / f"{name}.{ending}", "".join(f"{row[side]}\n" for row in rows))
        for side, ending in enumerate(("de", "en"))
    ]


def data(**settings: object) -> Data:
    return Data.model_validate(settings)
