"""Text as a stream of word numbers on disk, for fast passes over it.

The text is read once. Words get provisional numbers in order of first occurrence; at the end the frequent ones are
renumbered, most frequent first, and the stream is rewritten. Memory holds a table of the words met and one block of
text. When the table grows too large, it is pruned: the remaining words get new numbers, and the mapping goes to disk,
so that numbers, and thus memory, do not grow with the text.
"""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress, count
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from regard.data.built_in_text import DOCUMENTS
from regard.data.cache import is_whole, new_folder, remove_other_caches, seal, sweep
from regard.disk import each_block
from regard.errors import DataError, counted
from regard.recipe import VectorsData
from regard.tokens.segmentation import MARKS
from regard.vectors.phrases import join_phrases
from regard.vectors.stream import LINE_END, PIECE, mapped

MOST_MET = 4_000_000
"""Most distinct words in memory while counting, about 0.5 GB; beyond, the rarest are pruned (as by word2vec)."""

PATTERNS = {"letters": rf"[^\W\d_]+(?:[{MARKS}]+[^\W\d_]*)*|\n", "spaces": r"\S+|\n"}
"""Patterns of words and line ends, by their names in recipes. Vowel signs and accents belong to their letters."""

FORGOTTEN = 1
"""The number of all pruned words."""

_FORMAT = 2


@dataclass(frozen=True)
class Vocabulary:
    """Words and their counts, most frequent first."""

    words: list[str]
    counts: Int64[np.ndarray, " V"]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def total(self) -> int:
        """Occurrences of all words."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class Corpus:
    """A text as numbers of words; memory-mapped, so it may be larger than memory."""

    vocabulary: Vocabulary
    tokens: Int32[np.ndarray, " N"]
    """Numbers of the words in text order, LINE_END between lines."""
    fingerprint: str
    """Digest of stream and vocabulary."""


OnRead = Callable[[int, float], None]


@dataclass
class Met:
    """The words met so far, with provisional numbers; number 0 is the line end."""

    numbers: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    counts: Int64[np.ndarray, " M"] = field(default_factory=lambda: np.zeros(FORGOTTEN + 1, dtype=np.int64))
    """By provisional number."""
    rarest: int = 0
    """Largest count of pruned words, at the time of pruning."""

    def __post_init__(self) -> None:
        for word in ("\n", ""):
            self.numbers[word]

    def add(self, words: list[str]) -> Int32[np.ndarray, " n"]:
        """Counts words and returns their numbers."""
        found = np.fromiter(map(self.numbers.__getitem__, words), dtype=np.int32, count=len(words))
        counts = np.bincount(found, minlength=len(self.counts))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        return found

    def forget(self, most: int) -> Int32[np.ndarray, " M"] | None:
        """Prunes the rarest words if there are more than `most`; returns the new number of each old one, or None if
        nothing was pruned."""
        if len(self.numbers) <= most:
            return None
        kept = np.ones(len(self.counts), dtype=bool)
        while kept.sum() > most:
            self.rarest += 1
            kept = self.counts > self.rarest
            kept[: FORGOTTEN + 1] = True
        new = np.where(kept, np.cumsum(kept) - 1, FORGOTTEN).astype(np.int32)
        words = {word: number for number, word in enumerate(compress(self.numbers, kept))}
        self.numbers = defaultdict(count(len(words)).__next__, words)
        self.counts = np.bincount(new, weights=self.counts).astype(np.int64)
        return new


def blocks_of(data: VectorsData) -> Iterator[tuple[str, float]]:
    """The text of the settings in blocks that end at white space, each with the share read so far."""
    if data.corpus in DOCUMENTS:
        documents = DOCUMENTS[data.corpus]()
        yield from ((f"{text}\n", number / len(documents)) for number, text in enumerate(documents.values(), start=1))
        return
    before, total = 0, sum(os.path.getsize(path) for path in data.train if os.path.exists(path))
    for path in data.train:
        for block, read in each_block(Path(path)):
            yield block, (before + read) / total
        before += os.path.getsize(path)
        yield "\n", before / total


def load_corpus(data: VectorsData, cache: Path, on_read: OnRead = lambda words, share: None) -> Corpus:
    """The text of a recipe as a stream: from `cache` if it is complete there and no file has changed, otherwise made.
    While it is read, `on_read` gets the number of words so far and the share of the text."""
    files = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in data.train if os.path.exists(path)]
    key = blake2b(repr((_FORMAT, data.model_dump(), files)).encode(), digest_size=8).hexdigest()
    folder = cache / key
    if not is_whole(folder):
        shutil.rmtree(folder, ignore_errors=True)
        sweep(cache)
        with new_folder(folder) as unfinished:
            make_corpus(data, unfinished, on_read)
            seal(unfinished)
    remove_other_caches(folder)
    return open_corpus(folder)


def first_lines(data: VectorsData) -> list[str]:
    """The beginning of a text."""
    block, _ = next(blocks_of(data), ("", 1.0))
    return block.split("\n")


def make_corpus(data: VectorsData, folder: Path, on_read: OnRead) -> None:
    """Reads a text and writes its vocabulary and stream into a folder."""
    met, stream = count_words(data, folder / "met.int32", on_read)
    words = [""] * len(met.counts)
    for word, number in met.numbers.items():
        words[number] = word
    counts = met.counts
    for number in range(data.phrases):
        stream, words, counts = join_phrases(stream, words, counts, data, folder / f"joined-{number}.int32")
    _renumber(stream, words, counts, data, folder)
    for path in (folder / "met.int32", *folder.glob("joined-*.int32")):
        path.unlink()


def count_words(data: VectorsData, path: Path, on_read: OnRead) -> tuple[Met, Int32[np.ndarray, " N"]]:
    """The words of a text with their counts, and the text as a stream of provisional numbers in a file."""
    met, find, words = Met(), re.compile(PATTERNS[data.words]).findall, 0
    changes: list[tuple[int, Path]] = []
    with open(path, "wb") as file:
        for block, share in blocks_of(data):
            found = met.add(find(block.lower() if data.lowercase else block))
            file.write(found.tobytes())
            words += int(np.count_nonzero(found))  # a line's end is 0
            on_read(words, share)
            new = met.forget(MOST_MET)
            if new is not None:
                changes.append((file.tell() // found.itemsize, path.with_name(f"numbers-{len(changes)}.npy")))
                np.save(changes[-1][1], new)
    if changes:
        _apply_renumberings(path, changes)
    return met, mapped(path)


def _apply_renumberings(path: Path, changes: list[tuple[int, Path]]) -> None:
    """Gives all words of a stream their final numbers, in one pass from its end. Each change is the position up to
    which words have old numbers, and a file with the new number of each."""
    stream = np.memmap(path, dtype=np.int32, mode="r+")
    begins = [0, *(place for place, _ in changes)]
    latest = np.load(changes[-1][1])
    for number, (end, file) in reversed(list(enumerate(changes))):
        if number < len(changes) - 1:
            latest = latest[np.load(file)]
        for begin in range(begins[number], end, PIECE):
            piece = slice(begin, min(end, begin + PIECE))
            stream[piece] = latest[stream[piece]]
        file.unlink()
    stream.flush()


def open_corpus(folder: Path) -> Corpus:
    """Loads the stream and the vocabulary from a folder."""
    words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vocabulary = Vocabulary(words, np.load(folder / "counts.npy", allow_pickle=False))
    return Corpus(vocabulary, mapped(folder / "tokens.int32"), (folder / "fingerprint").read_text().strip())


def _renumber(
    stream: Int32[np.ndarray, " N"],
    words: list[str],
    counts: Int64[np.ndarray, " M"],
    data: VectorsData,
    folder: Path,
) -> None:
    """Selects the frequent words, most frequent first, and writes them and the stream of their numbers."""
    known = [number for number, word in enumerate(words) if number and word and counts[number] >= data.least]
    known.sort(key=lambda number: (-counts[number], words[number]))
    known = known[: data.most or None]
    if len(known) < 2:
        occur = f"{counted(len(known), 'word')} {'occurs' if len(known) == 1 else 'occur'} {data.least} times or more"
        advice = "that is too little to learn from: give more text, or lower data.least"
        raise DataError(f"{_where(data)}: {occur}; {advice}")
    new = np.full(len(words), LINE_END - 1, dtype=np.int32)
    new[known] = np.arange(len(known), dtype=np.int32)
    new[0] = LINE_END
    digest = blake2b("\n".join(words[number] for number in known).encode(), digest_size=16)
    with open(folder / "tokens.int32", "wb") as file:
        for begin in range(0, len(stream), PIECE):
            piece = new[stream[begin : begin + PIECE]]
            content = piece[piece >= LINE_END].tobytes()
            digest.update(content)
            file.write(content)
    (folder / "words.txt").write_text("".join(f"{words[number]}\n" for number in known), encoding="utf-8")
    np.save(folder / "counts.npy", counts[known].astype(np.int64))
    (folder / "fingerprint").write_text(digest.hexdigest() + "\n")


def _where(data: VectorsData) -> str:
    return ", ".join(data.train) or f"the text of {data.corpus}"
