"""Combined and divided files: several corpora with a tag each, and held-out parts of one."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Protocol

from regard.data.examples import Split
from regard.data.pair_files import Record
from regard.disk import Lines


class RecordFiles(Protocol):
    """Files of pairs. They can be read repeatedly; pairs are numbered from 1 on."""

    @property
    def paths(self) -> Sequence[str]: ...

    @property
    def files(self) -> list[Lines]: ...

    def __iter__(self) -> Iterator[Record]: ...

    def place(self, line: int, side: int = 0) -> str:
        """The place of the source (0) or target (1) of a pair, for messages."""
        ...


class LanguageTaggedFiles:
    """Several corpora, one after another; every pair has the tag of its corpus."""

    def __init__(self, corpora: Sequence[RecordFiles], tags: Sequence[str]) -> None:
        self._corpora, self._tags = corpora, tags
        self._ends: list[int] = []

    @property
    def paths(self) -> list[str]:
        return [path for corpus in self._corpora for path in corpus.paths]

    @property
    def files(self) -> list[Lines]:
        return [file for corpus in self._corpora for file in corpus.files]

    def __iter__(self) -> Iterator[Record]:
        self._ends = [0]
        for corpus, tag in zip(self._corpora, self._tags, strict=True):
            for record in corpus:
                self._ends[-1] += 1
                yield replace(record, line=self._ends[-1], tag=tag)
            self._ends.append(self._ends[-1])

    def place(self, line: int, side: int = 0) -> str:
        corpus = bisect_right(self._ends, line - 1)
        before = self._ends[corpus - 1] if corpus else 0
        return self._corpora[corpus].place(line - before, side)


class DividedFiles:
    """The pairs of files whose sources belong to one split.

    The split of a source depends only on the source (ignoring case and white space) and the held-out share: no source
    is in two splits, and adding pairs does not move others.
    """

    def __init__(self, whole: RecordFiles, split: Split, held_out: float) -> None:
        self._whole, self._split, self._held_out = whole, split, held_out
        self._lines = array("Q")

    @property
    def paths(self) -> Sequence[str]:
        return self._whole.paths

    @property
    def files(self) -> list[Lines]:
        return self._whole.files

    def __iter__(self) -> Iterator[Record]:
        self._lines = array("Q")
        for record in self._whole:
            if split_of(record.source, self._held_out) == self._split:
                self._lines.append(record.line)
                yield replace(record, line=len(self._lines))

    def place(self, line: int, side: int = 0) -> str:
        return self._whole.place(self._lines[line - 1], side)


def split_of(source: str, held_out: float) -> Split:
    """The split of a source, if `held_out` is the share held out for development, and again for tests."""
    key = " ".join(source.casefold().split())
    chance = int.from_bytes(blake2b(key.encode(errors="replace"), digest_size=8).digest(), "big") / 2**64
    return "dev" if chance < held_out else "test" if chance < 2 * held_out else "train"
