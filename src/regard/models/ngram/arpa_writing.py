"""Writing ARPA files, which KenLM, SRILM and others read; compressed if the name ends in `.gz`.

Numbers are log10, with as few digits as restore the same float32, so that reading and writing a file preserves them.
`<unk>`, `<s>` and `</s>` are the special tokens; `<s>`, which is never predicted, has −99.
"""

import gzip
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from regard.disk import sync_folder
from regard.errors import UsageError, counted
from regard.loops import njit
from regard.models.ngram.table import NgramTable
from regard.tokens.vocabulary import PAD, SPECIAL_NAMES

_BLANK = re.compile(r"[ \t\n\v\f\r\0]")
"""Separators of words in an ARPA file."""
_SPACE = "▁"
"""Replaces white space inside a word."""
_RENAMED = {f"<{name}>": name for name in SPECIAL_NAMES}
"""Names in a file of text that looks like a special token, and that text."""
_BLOCK = 2**25
"""Bytes of text written at a time."""
_DECIMALS = 16
"""Most decimals of a number; enough to distinguish a back-off weight near one from it."""
_NUMBERS = 64
"""Upper bound of the bytes of a line's two numbers."""


def arpa_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens of a vocabulary as words of an ARPA file: white space, which separates words there, becomes ▁; and
    text that looks like a special token, such as the `<unk>` of some corpora, gets more brackets: `<<unk>>`."""
    texts = tokens[len(SPECIAL_NAMES) :]
    own = {text: word for word, text in _RENAMED.items()}
    return (*SPECIAL_NAMES, *(own[text] if text in own else _BLANK.sub(_SPACE, text) for text in texts))


def arpa_tokens(words: Sequence[str]) -> tuple[str, list[str]]:
    """The inverse: the kind of tokens in a file, and the tokens of its words."""
    if _SPACE in words and all(len(word) == 1 for word in words if word not in _RENAMED):
        return "characters", [" " if word == _SPACE else _RENAMED.get(word, word) for word in words]
    return "words", [_RENAMED.get(word, word) for word in words]


def write_arpa(table: NgramTable, words: Sequence[str], path: Path) -> None:
    """Writes a model atomically; `words` are the names of its tokens (see `arpa_words`)."""
    _check_words(words, table.size, path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    _write(table, words, packed.write)
            else:
                _write(table, words, file.write)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        sync_folder(path.parent)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UsageError(f"{path}: cannot be written: {error.strerror}; choose another place") from None


def _check_words(words: Sequence[str], size: int, path: Path) -> None:
    if len(words) != size:
        raise UsageError(f"{path}: {counted(len(words), 'word')} for a model of {size} tokens; give one for each")
    seen = set()
    for word in words:
        if word in seen or not word or _BLANK.search(word):
            problem = "is in the vocabulary twice" if word in seen else "is empty or contains white space"
            raise UsageError(f"{path}: {word!r} {problem}, which an ARPA file cannot hold; rename it (see arpa_words)")
        seen.add(word)


def _write(table: NgramTable, words: Sequence[str], write: Callable[[bytes], object]) -> None:
    sizes = np.diff(table.bounds)
    sizes[0] -= 1  # PAD
    write(b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % entry for entry in enumerate(sizes, start=1)))
    names = [word.encode() for word in words]
    ends = np.cumsum([len(name) for name in names])
    text = np.frombuffer(b"".join(names), np.uint8)
    longest = max(map(len, names))
    for order in range(1, table.order + 1):
        write(b"\n\\%d-grams:\n" % order)
        block = max(1, _BLOCK // (order * (longest + 1) + _NUMBERS))
        level = table.level(order)
        back_offs = table.back_offs if order < table.order else np.empty(0, np.float32)
        for start in range(max(level.start, PAD + 1), level.stop, block):
            end = min(start + block, level.stop)
            buffer = np.empty((end - start) * (order * (longest + 1) + _NUMBERS), np.uint8)
            used = _format(start, end, order, table.size, table.keys, table.log_probs, back_offs, text, ends, buffer)
            write(buffer[:used].tobytes())
    write(b"\n\\end\\\n")


@njit(nogil=True, cache=True)
@no_type_check
def _format(
    start: int,
    end: int,
    order: int,
    size: int,
    keys: Int64[np.ndarray, " keys"],
    log_probs: Float32[np.ndarray, " nodes"],
    back_offs: Float32[np.ndarray, " contexts"],
    text: UInt8[np.ndarray, " bytes"],
    ends: Int64[np.ndarray, " V"],
    buffer: UInt8[np.ndarray, " room"],
) -> int:
    """Formats the nodes from start to end, all of `order` words, into the buffer; returns the bytes used. Nodes beyond
    the end of `back_offs` have no back-off weight."""
    words = np.empty(order, np.int64)
    place = 0
    for node in range(start, end):
        place = _put_number(log_probs[node], buffer, place)
        above = node
        for turn in range(order - 1, 0, -1):
            words[turn] = keys[above - size] % size
            above = keys[above - size] // size
        words[0] = above
        for turn in range(order):
            buffer[place] = 32 if turn else 9
            place += 1
            for letter in range(ends[words[turn] - 1] if words[turn] else 0, ends[words[turn]]):
                buffer[place] = text[letter]
                place += 1
        if node < len(back_offs):
            buffer[place] = 9
            place = _put_number(back_offs[node], buffer, place + 1)
        buffer[place] = 10
        place += 1
    return place


@njit(nogil=True, cache=True)
@no_type_check
def _put_number(number: np.float32, buffer: UInt8[np.ndarray, " room"], place: int) -> int:
    """Writes a number with the fewest decimals that restore it; returns the place after it."""
    digits, scale, decimals = np.rint(abs(np.float64(number))), 1.0, 0
    while np.float32(digits / scale) != abs(number) and decimals < _DECIMALS:
        scale *= 10.0
        decimals += 1
        digits = np.rint(abs(np.float64(number)) * scale)
    whole = np.int64(digits)
    if number < 0 and whole:
        buffer[place] = 45
        place += 1
    length = 1 if decimals == 0 else decimals + 2
    beyond = whole
    for _ in range(decimals):
        beyond //= 10
    while beyond >= 10:
        beyond //= 10
        length += 1
    for turn in range(length):
        if turn == decimals and decimals:
            buffer[place + length - 1 - turn] = 46
        else:
            buffer[place + length - 1 - turn] = 48 + whole % 10
            whole //= 10
    return place + length
