"""Reading ARPA files, as written by KenLM, SRILM and others; decompressed if the name ends in `.gz`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
from jaxtyping import Float32, Int64

from regard.disk import Lines, decoded
from regard.errors import DataError, counted, one_of
from regard.models.ngram.table import LAST_KEY, MOST_NODES, NEVER, NEVER_WRITTEN, NgramTable
from regard.tokens.vocabulary import SPECIAL_NAMES, UNKNOWN

_BLOCK = 2**14
"""Lines read at a time."""

Grams = Int64[np.ndarray, "M n"]


@dataclass(frozen=True)
class Arpa:
    """A model, and the words of its tokens."""

    table: NgramTable
    words: tuple[str, ...]
    """By token, special tokens included."""


def read_arpa(path: Path, words: Sequence[str] | None = None) -> Arpa:
    """Reads a model. With `words`, its tokens are those, and a file with others is refused; without, they are the
    special tokens, then those of the file in its order.

    If the prefix or suffix of an n-gram is missing from the file, as after pruning, it is added with its back-off
    probability.
    """
    file = _File(path, words)
    sections, size = file.sections(), len(file.names)
    try:
        table = _table(sections, size)
    except _MissingError:
        table = _table(_completed(sections, size), size)
    return Arpa(table, tuple(file.names))


@dataclass(frozen=True)
class _Section:
    """The n-grams of one length in file order, and the line of the first."""

    where: str
    line: int
    grams: Grams
    log_probs: Float32[np.ndarray, " M"]
    """NaN for n-grams that are not in the file."""
    back_offs: Float32[np.ndarray, " M"]


class _MissingError(Exception):
    """The prefix or suffix of an n-gram is not in the file."""


class _File:
    """Reads a file sequentially and tracks the line number."""

    def __init__(self, path: Path, words: Sequence[str] | None) -> None:
        self.path, self.line = path, 0
        self.lines = iter(Lines(path))
        self.closed = words is not None
        self.names = list(SPECIAL_NAMES if words is None else words)
        self.tokens = {name.encode(): token for token, name in enumerate(self.names)}

    def sections(self) -> list[_Section]:
        sizes = self._sizes()
        found = [self._section(order, size, len(sizes)) for order, size in enumerate(sizes, start=1)]
        if (line := self._filled()) != b"\\end\\":
            self._refuse(f"{_shown(line)} instead of \\end\\; by the counts under \\data\\, all n-grams have been read")
        return found

    def _sizes(self) -> list[int]:
        """The counts under \\data\\."""
        while (line := self._filled()) != b"\\data\\":
            if not line:
                self._refuse("there is no \\data\\, so this is not an ARPA file")
        sizes: list[int] = []
        while line := self._next().strip():
            name, _, size = line.partition(b"=")
            if name.split() != [b"ngram", b"%d" % (len(sizes) + 1)] or not size.strip().isdigit():
                self._refuse(f"{_shown(line)} instead of 'ngram {len(sizes) + 1}=' and a number, or an empty line")
            sizes.append(int(size))
        if not sizes:
            self._refuse("no 'ngram 1=' under \\data\\")
        if sum(sizes) > MOST_NODES:
            self._refuse(f"{sum(sizes):,} n-grams, but a model holds {MOST_NODES:,} at most")
        return sizes

    def _section(self, order: int, size: int, last: int) -> _Section:
        header = b"\\%d-grams:" % order
        if (line := self._filled()) != header:
            self._refuse(f"{_shown(line)} instead of {header.decode()}")
        start, blocks = self.line + 1, []
        for done in range(0, size, _BLOCK):
            rows = [line.split() for line in islice(self.lines, min(_BLOCK, size - done))]
            try:
                if order == 1:
                    self._learn(rows)
                blocks.append(_numbers(rows, order, self.tokens))
            except (KeyError, ValueError, IndexError):
                self._blame(rows, order, f"at {{}} of {size:,} {order}-grams", order < last)
            self.line += len(rows)
            if len(rows) < min(_BLOCK, size - done):
                self._refuse(f"the file ends after {done + len(rows):,} of {size:,} {order}-grams")
        empty = np.empty((0, order), np.int64), np.empty(0, np.float32), np.empty(0, np.float32)
        grams, log_probs, back_offs = (np.concatenate(parts) for parts in zip(empty, *blocks, strict=True))
        return _Section(str(self.path), start, grams, log_probs, back_offs)

    def _learn(self, rows: list[list[bytes]]) -> None:
        """Adds new words to the vocabulary, if it is open."""
        for number, row in enumerate(rows, start=self.line + 1):
            if row[1] in self.tokens:
                continue
            text, problem = decoded(row[1], self.path, number)
            if problem:
                raise DataError(f"{problem} is not valid UTF-8; save the file as UTF-8")
            if self.closed:
                self.line = number
                self._refuse(
                    f"the word {text!r} is not in the vocabulary, which has {one_of(self.names, text, most=3)}"
                )
            self.tokens[row[1]] = len(self.names)
            self.names.append(text)

    def _blame(self, rows: list[list[bytes]], order: int, place: str, weighted: bool) -> NoReturn:
        """Finds the first malformed entry and refuses it."""
        entry = f"an entry is a log10 probability, {counted(order, 'word')}{' and a back-off weight' * weighted}"
        for number, row in enumerate(rows, start=1):
            self.line += 1
            if len(row) not in (order + 1, order + 2):
                self._refuse(f"{_shown(b' '.join(row))} {place.format(number)}; {entry}")
            try:
                _numbers([row], order, self.tokens)
            except KeyError as missing:
                self._refuse(f"{_shown(missing.args[0])} is not among the 1-grams")
            except ValueError:
                self._refuse(f"{_shown(b' '.join(row))} has a malformed number, or a probability above 1; {entry}")
        raise AssertionError("no entry of a malformed block is malformed")

    def _next(self) -> bytes:
        """The next line; empty past the end of the file."""
        self.line += 1
        return next(self.lines, b"")

    def _filled(self) -> bytes:
        """The next non-empty line; empty at the end of the file."""
        for line in self.lines:
            self.line += 1
            if line := line.strip():
                return line
        return b""

    def _refuse(self, trouble: str) -> NoReturn:
        raise DataError(f"{self.path}:{self.line}: {trouble}; get or write the file again")


def _numbers(
    rows: list[list[bytes]], order: int, tokens: dict[bytes, int]
) -> tuple[Grams, Float32[np.ndarray, " M"], Float32[np.ndarray, " M"]]:
    """n-grams, log10 probabilities and back-off weights; KeyError or ValueError if an entry is malformed."""
    if not {len(row) for row in rows} <= {order + 1, order + 2}:
        raise ValueError
    log_probs = np.array([float(row[0]) for row in rows])
    back_offs = np.array([float(row[-1]) if len(row) == order + 2 else 0.0 for row in rows])
    if not ((log_probs <= 0).all() and (back_offs < np.inf).all()):
        raise ValueError
    grams = np.array([tokens[word] for row in rows for word in row[1 : order + 1]], np.int64)
    log_probs, back_offs = (np.maximum(numbers, NEVER).astype(np.float32) for numbers in (log_probs, back_offs))
    return grams.reshape(-1, order), log_probs, back_offs


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace")
    return repr(text if len(text) <= 40 else text[:40] + "…") if text else "nothing"


def _table(sections: list[_Section], size: int) -> NgramTable:
    """The trie of all n-grams; _MissingError if a prefix or suffix is missing."""
    log_probs, back_offs = _unigrams(sections[0], size)
    keys, links, bounds = np.array([LAST_KEY]), np.full(size, -1), [0, size]
    for section in sections[1:]:
        parents, ends = (_nodes(keys, size, grams) for grams in (section.grams[:, :-1], section.grams[:, 1:]))
        if min(parents.min(initial=0), ends.min(initial=0)) < 0:
            raise _MissingError
        new = parents * size + section.grams[:, -1]
        order = _sorted_once(new, section)
        keys = np.concatenate((keys[:-1], new[order], keys[-1:]))
        links = np.concatenate((links, ends[order]))
        log_probs = np.concatenate((log_probs, section.log_probs[order]))
        back_offs = np.concatenate((back_offs, section.back_offs[order]))
        bounds.append(len(links))
    parents = keys[:-1] // size
    for node in np.flatnonzero(np.isnan(log_probs)):  # shorter n-grams first
        log_probs[node] = max(back_offs[parents[node - size]] + log_probs[links[node]], NEVER)
    contexts = bounds[max(1, len(sections) - 1)]
    first = size + np.searchsorted(parents, np.arange(contexts + 1))
    return NgramTable(
        size, np.array(bounds), keys, first.astype(np.int32), links.astype(np.int32), log_probs, back_offs[:contexts]
    )


def _unigrams(section: _Section, size: int) -> tuple[Float32[np.ndarray, " V"], Float32[np.ndarray, " V"]]:
    """Probabilities and back-off weights of all words; those not in the file have the probability of unknown words."""
    words = section.grams[:, 0]
    _sorted_once(words, section)
    log_probs, back_offs = np.full(size, np.nan, np.float32), np.zeros(size, np.float32)
    log_probs[words], back_offs[words] = section.log_probs, section.back_offs
    unknown = NEVER if np.isnan(log_probs[UNKNOWN]) else log_probs[UNKNOWN]
    log_probs[np.isnan(log_probs)] = unknown
    log_probs[list(NEVER_WRITTEN)] = NEVER
    return log_probs, back_offs


def _nodes(keys: Int64[np.ndarray, " keys"], size: int, grams: Grams) -> Int64[np.ndarray, " M"]:
    """The nodes of n-grams, −1 if missing."""
    nodes = grams[:, 0]
    for words in grams.T[1:]:
        wanted = nodes * size + words
        places = np.searchsorted(keys, wanted)
        nodes = np.where((keys[places] == wanted) & (nodes >= 0), places + size, -1)
    return nodes


def _sorted_once(numbers: Int64[np.ndarray, " M"], section: _Section) -> Int64[np.ndarray, " M"]:
    """The order of n-grams by their numbers, which must be unique."""
    order = np.argsort(numbers, kind="stable")
    repeated = np.flatnonzero(np.diff(numbers[order]) == 0)
    if len(repeated):
        before, here = (section.line + int(order[place]) for place in (repeated[0], repeated[0] + 1))
        raise DataError(f"{section.where}:{here}: the same n-gram as in line {before}; get or write the file again")
    return order


def _completed(sections: list[_Section], size: int) -> list[_Section]:
    """The sections with all missing prefixes and suffixes of longer n-grams added."""
    found = list(sections)
    for order in range(len(sections), 2, -1):
        longer, shorter = found[order - 1].grams, found[order - 2]
        joined = np.concatenate((shorter.grams, longer[:, :-1], longer[:, 1:]))
        numbers = np.zeros(len(joined), np.int64)
        for words in joined.T:
            numbers = np.unique(numbers * size + words, return_inverse=True)[1]
        _, places = np.unique(numbers, return_index=True)
        new = joined[places[places >= len(shorter.grams)]]
        found[order - 2] = replace(
            shorter,
            grams=np.concatenate((shorter.grams, new)),
            log_probs=np.append(shorter.log_probs, np.full(len(new), np.nan, np.float32)),
            back_offs=np.append(shorter.back_offs, np.zeros(len(new), np.float32)),
        )
    return found
