"""Running text as one stream of tokens, on disk or in memory, which knows where lines and documents end."""

import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from regard.data.cache import (
    Ragged,
    RaggedWriter,
    digest_of,
    digest_of_file,
    is_whole,
    new_folder,
    seal,
    sweep,
    write_numbers,
)
from regard.data.examples import Split
from regard.data.report import Report
from regard.data.slots import Slots, slotted
from regard.data.text import Text, check_text, load_text
from regard.disk import parse_json
from regard.errors import DataError, counted
from regard.recipe import CopyingModel, LanguageRecipe
from regard.tokens import END, UNKNOWN, Tokenizer, load_tokenizer, save_tokenizer, train_tokenizer

_FORMAT = 1
"""Raised when the content of the cache changes, so that old caches are not reused."""

_LINES_AT_ONCE = 4096
_FILES = {"train", "dev", "test"}
_UNITS = {"segment", "vary", "rotate", "context"}
"""Settings for how a stream is cut, which do not affect its content."""

OnProgress = Callable[[str, int], None]
"""Called with the current activity and the lines done so far."""


@dataclass(frozen=True)
class TokenText:
    """All tokens of a text, one after another."""

    stream: npt.NDArray[Any]
    lines: npt.NDArray[np.int64]
    """Where each line ends in the stream."""
    documents: npt.NDArray[np.uint32]
    """The lines that begin documents."""

    @classmethod
    def open(cls, folder: Path, name: str) -> Self:
        """The text of that name in a cache, through memory maps."""
        rows = Ragged(folder, f"{name}.tokens")
        return cls(rows.values, rows.ends, np.fromfile(folder / f"{name}.documents.uint32", dtype=np.uint32))

    @classmethod
    def of(cls, rows: Iterable[tuple[list[int], bool]]) -> Self:
        """From the tokens of each line, and whether a document begins with it."""
        stream, ends, documents = array("q"), array("q"), array("I")
        for tokens, begins in rows:
            if begins:
                documents.append(len(ends))
            stream.extend(tokens)
            ends.append(len(stream))
        return cls(
            np.array(stream, dtype=np.int64), np.array(ends, dtype=np.int64), np.array(documents, dtype=np.uint32)
        )

    def __len__(self) -> int:
        return len(self.stream)

    def ends(self, context: str) -> npt.NDArray[np.int64]:
        """Ends of the pieces of text within which a word may depend on others; no piece is empty."""
        if context == "stream":
            ends = np.array([len(self.stream)])
        elif context == "documents":
            first = np.concatenate([[0], self.lines])[self.documents[1:]]
            ends = np.append(first, len(self.stream))
        else:
            ends = np.asarray(self.lines)
        return ends[np.diff(ends, prepend=0) > 0]


@dataclass(frozen=True)
class PreparedText:
    """Everything a run needs to know of its text."""

    parts: dict[Split, TokenText]
    """Training text, development text where there is some, test text where there is some."""
    tokenizer: Tokenizer
    report: Report
    fingerprint: str
    """Identifies the text and the settings it was prepared with."""
    cache: Path
    """The folder that holds the tokens."""


def prepare_text(
    recipe: LanguageRecipe,
    folder: Path,
    tokenizer: Tokenizer | None = None,
    on_progress: OnProgress = lambda what, count: None,
) -> PreparedText:
    """Checks the text of a recipe, trains a tokenizer unless one is given, and writes tokens into a cache inside
    `folder`, which is used again while nothing has changed. Raises DataError for files that are not text."""
    parts = load_text(recipe.data)
    try:
        sweep(folder)
        fingerprint = _fingerprint(recipe, parts, tokenizer)
        # The report in the cache has file names; moved files are prepared again, though their tokens are the same.
        cache = folder / digest_of([fingerprint, recipe.data.model_dump(include=_FILES)])
        if not is_whole(cache):
            shutil.rmtree(cache, ignore_errors=True)
            with new_folder(cache) as unfinished:
                _build(unfinished, recipe, parts, tokenizer, on_progress)
        report = Report.from_json(parse_json((cache / "report.json").read_text(encoding="utf-8")))
        learned = tokenizer or load_tokenizer(cache / "tokenizer.json")
        tokens = {split: TokenText.open(cache, split) for split in parts}
        return PreparedText(tokens, learned, report, fingerprint, cache)
    except OSError as error:
        what = "the data cache cannot be written or read"
        raise DataError(f"{folder}: {what}: {error.strerror}; make room there, or choose another folder") from None


def encoded(
    lines: Iterable[tuple[str, bool]], tokenizer: Tokenizer | Slots, end_of_line: bool
) -> Iterator[tuple[list[int], bool]]:
    """The tokens of each line, END after them if the end of a line is a token, and whether a document begins there."""
    end = [END] if end_of_line else []
    waiting = iter(lines)
    while some := list(islice(waiting, _LINES_AT_ONCE)):
        for (_, begins), tokens in zip(some, tokenizer.encode_all([line for line, _ in some]), strict=True):
            yield tokens + end, begins


def _fingerprint(recipe: LanguageRecipe, parts: dict[Split, Text], tokenizer: Tokenizer | None) -> str:
    learned = None if tokenizer is None else [tokenizer.settings.model_dump(), tokenizer.state()]
    facts: list[Any] = [_FORMAT, recipe.data.model_dump(exclude=_FILES | _UNITS), recipe.tokens.model_dump(), learned]
    facts += [recipe.model.slots] if isinstance(recipe.model, CopyingModel) and recipe.model.slots else []
    for split, text in parts.items():
        built_in = [] if text.files else [digest_of(list(text))]
        facts.append([split, *built_in, *(digest_of_file(file.path) for file in text.files)])
    return digest_of(facts)


def _build(
    folder: Path,
    recipe: LanguageRecipe,
    parts: dict[Split, Text],
    tokenizer: Tokenizer | None,
    on_progress: OnProgress,
) -> None:
    report = check_text(recipe.data, recipe.tokens.unknown, recipe.tokens.kind)
    report.raise_if_refused()
    if tokenizer is None:
        tokenizer = train_tokenizer(recipe.tokens, parts["train"], lambda count: on_progress("learning tokens", count))
        save_tokenizer(tokenizer, folder / "tokenizer.json")
    notes = [f"a vocabulary of {tokenizer.size:,} ({tokenizer.kind})"]
    encoder, size = slotted(tokenizer, recipe.model), tokenizer.size
    small = size + (encoder.count if isinstance(encoder, Slots) else 0) <= np.iinfo(np.uint16).max
    for split, text in parts.items():
        rows = encoded(text.lines(), encoder, recipe.data.end_of_line)
        tokens, unknown = _write(folder, split, rows, size, np.uint16 if small else np.uint32, on_progress)
        share = f"{unknown:,} of them unknown ({unknown / max(1, tokens):.2%})" if unknown else "none of them unknown"
        notes.append(f"{split}: {counted(tokens, 'token')}, {share}")
    report = report.extended(notes=notes)
    (folder / "report.json").write_text(json.dumps(report.as_json()), encoding="utf-8")
    seal(folder)


def _write(
    folder: Path,
    name: str,
    rows: Iterable[tuple[list[int], bool]],
    size: int,
    dtype: npt.DTypeLike,
    on_progress: OnProgress,
) -> tuple[int, int]:
    """Writes a text to be read by `TokenText.open`; returns the number of its tokens, and of the unknown ones."""
    total, unknown, documents = 0, 0, array("I")
    with RaggedWriter(folder, f"{name}.tokens", dtype) as writer:
        for number, (tokens, begins) in enumerate(rows):
            if begins:
                documents.append(number)
            writer.append(tokens)
            total, unknown = total + len(tokens), unknown + sum(token == UNKNOWN or token >= size for token in tokens)
            if (number + 1) % _LINES_AT_ONCE == 0:
                on_progress(f"tokenizing {name}", number + 1)
    write_numbers(folder, f"{name}.documents", documents)
    return total, unknown
