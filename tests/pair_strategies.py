"""Small corpora for tests of data: in memory, and in files."""

import gzip
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from regard.data import Pair
from regard.recipe import Data
from regard.tokens.rows import Rows

TokenPair = tuple[list[int], list[int]]

SYLLABLES = {
    "source": ["ung", "schl", "ein", "der", "keit", "tz", "über", "ach", "ich", "ge"],
    "target": ["ing", "the", "ion", "ough", "ed", "wh", "ly", "er", "st", "ous"],
    "other": ["ão", "que", "ia", "lho", "os", "mente", "ar", "do", "em", "nh"],
}

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


def invented_words(language: str) -> list[str]:
    """Those of a language with syllables of its own."""
    draw = random.Random(language)
    return ["".join(draw.choices(SYLLABLES[language], k=draw.randint(1, 3))) for _ in range(80)]


def spoken_pairs(lines: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of invented words, translated word by word, as long as the text allows."""
    draw = random.Random(seed)
    ours, theirs = invented_words("source"), invented_words("target")
    rows = [[draw.randrange(80) for _ in range(draw.randint(3, 25))] for _ in range(lines)]
    return [(" ".join(ours[word] for word in row), " ".join(theirs[word] for word in row)) for row in rows]
