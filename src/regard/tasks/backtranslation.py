"""Back-translation (Sennrich et al. 2016): text of the target language alone becomes pairs, whose sources are written
by a model of the reverse direction.

Progress is kept in two files beside the output file: the pairs so far, and how far they go. The output file appears
when it is complete.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import torch

from regard.checkpoint import weights_of
from regard.disk import each_line, parse_json, replace_file, sync_folder
from regard.errors import DataError, UsageError, counted
from regard.recipe import Decoding
from regard.tasks.translations import Translation
from regard.tasks.translator import Translator

LINES_AT_ONCE = 1000
"""Lines that are translated together, and after which progress is saved."""


@dataclass(frozen=True)
class Counts:
    """Outcomes of the lines so far."""

    lines: int = 0
    pairs: int = 0
    blank: int = 0
    """Lines without text."""
    empty: int = 0
    """Outputs without text."""
    cut: int = 0
    """Outputs that reached the length limit before they ended."""
    tabs: int = 0
    """Lines in which tabs became spaces, since a tab separates the two sides of a pair."""

    def __add__(self, other: "Counts") -> "Counts":
        mine, others = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + others[name] for name in mine})


class BackTranslation:
    """Pairs (written source, given target) as tab-separated values, from a text of one sentence a line."""

    def __init__(
        self, translator: Translator, text: Path, out: Path, *, decoding: Decoding | None = None, tag: str = ""
    ) -> None:
        if out.suffix != ".tsv":
            raise UsageError(f"{out}: pairs are written as tab-separated values; choose a name that ends in .tsv")
        if tag and tag.split() != [tag]:
            raise UsageError(f"tag {tag!r} must be one word without white space, such as <bt>")
        self.translator, self.text, self.out, self.tag = translator, text, out, tag
        self.decoding = decoding or translator.recipe.decode
        self.counts = Counts()
        self._unfinished = out.with_name(f".{out.name}.unfinished")
        self._progress = out.with_name(f".{out.name}.progress")
        self._read = hashlib.blake2b()
        self._made_by = self._fingerprint()

    def run(self, *, resume: bool = False, on_progress: Callable[[int, int], None] | None = None) -> Counts:
        """Writes all pairs. With `resume` it continues where it was stopped or killed, on the same device to
        the same bytes."""
        self._refuse_to_write_over(resume)
        # Errors in the text are raised before hours of translating.
        total = sum(1 for _ in each_line(self.text))
        lines = each_line(self.text)
        try:
            with open(self._unfinished, "ab") as file:
                file.truncate(self._go_on(lines) if self._progress.exists() else 0)
                file.seek(0, os.SEEK_END)
                while piece := list(islice(lines, LINES_AT_ONCE)):
                    self._add(piece, file)
                    if on_progress is not None:
                        on_progress(self.counts.lines, total)
            self._finish()
        except OSError as error:
            raise UsageError(
                f"{self.out}: cannot be written: {error.strerror}; make room, or write elsewhere; what was done before "
                "is safe, and --resume goes on with it"
            ) from None
        return self.counts

    def _refuse_to_write_over(self, resume: bool) -> None:
        if not self.out.parent.is_dir():
            raise UsageError(f"{self.out.parent}: no such folder; make it first, or write the pairs elsewhere")
        if self.out.exists():
            raise UsageError(f"{self.out}: there is such a file already; delete it, or choose another name")
        if self._progress.exists() and not resume:
            raise UsageError(
                f"{self.out}: was begun before and is not finished; go on by --resume, or delete {self._progress}"
            )
        if resume and not self._unfinished.exists():
            raise UsageError(f"{self.out}: nothing was begun here, so --resume has nothing to go on with; leave it out")

    def _go_on(self, lines: Iterator[str]) -> int:
        """Skips the lines that are done; returns the size of their pairs in bytes."""
        try:
            saved = parse_json(self._progress.read_bytes())
            counts, length = Counts(**saved["counts"]), int(saved["bytes"])
            made_by, read = saved["made_by"], saved["read"]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self._progress}: is damaged; delete it to start over") from None
        for line in islice(lines, counts.lines):
            self._note(line)
        if made_by != self._made_by or read != self._read.hexdigest():
            what = "text" if made_by == self._made_by else "model, its settings or the tag"
            remedy = f"bring the old back, or delete {self._progress} to start over"
            raise UsageError(f"{self.out}: was begun with another {what}; {remedy}")
        self.counts = counts
        return length

    def _add(self, piece: list[str], file: BinaryIO) -> None:
        """Translates some lines and saves the progress."""
        texts = [line for line in piece if line.strip()]
        # Equal lines of different pieces must become different samples too.
        translator = self.translator.counting_from(self.counts.lines)
        added = Counts(
            lines=len(piece), blank=len(piece) - len(texts), tabs=sum(_one_line(line) != line for line in texts)
        )
        for target, best in zip(texts, translator.translate(texts, decoding=self.decoding), strict=True):
            for output in (best, *best.others):
                pairs, counted = self._pair(target, output)
                file.write(pairs)
                added += counted
        file.flush()
        os.fsync(file.fileno())
        for line in piece:
            self._note(line)
        self.counts += added
        saved = {"made_by": self._made_by, "read": self._read.hexdigest(), "bytes": file.tell()}
        replace_file(self._progress, json.dumps(saved | {"counts": asdict(self.counts)}).encode())

    def _pair(self, target: str, output: Translation) -> tuple[bytes, Counts]:
        """A line of the file, or nothing for an output unfit for training."""
        source = _one_line(output.text).strip()
        if not source:
            return b"", Counts(empty=1)
        if not output.finished:
            return b"", Counts(cut=1)
        tagged = f"{self.tag} {source}" if self.tag else source
        return f"{tagged}\t{_one_line(target)}\n".encode(), Counts(pairs=1)

    def _finish(self) -> None:
        if self.counts.pairs:
            os.replace(self._unfinished, self.out)
        else:
            self._unfinished.unlink()
        self._progress.unlink(missing_ok=True)
        sync_folder(self.out.parent)
        if not self.counts.pairs:
            raise DataError(
                f"{self.text}: nothing in its {counted(self.counts.lines, 'line')} became a pair; "
                "is this a model that reads them?"
            )

    def _note(self, line: str) -> None:
        self._read.update(line.encode() + b"\n")

    def _fingerprint(self) -> str:
        """A hash of everything that determines the output. Later changes of the weights, such as `only_writing`, are
        left out: they are determined by these."""
        digest = hashlib.blake2b(f"{self.decoding.model_dump_json()} {self.tag}".encode())
        for name, tensor in weights_of(self.translator.model).items():
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        return digest.hexdigest()


def _one_line(text: str) -> str:
    """A text as one column of a line."""
    return re.sub(r"[\t\r\n]", " ", text)
