"""Alignment: parallel text in, a model that finds which words of two sentences are translations of each other."""

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, Self

from torch import nn

from regard.data import CorpusPosition
from regard.disk import parse_json, replace_file
from regard.errors import DataError, ModelError, with_short_paths
from regard.models.alignment.aligner import StatisticalAligner
from regard.models.alignment.learning import learn
from regard.models.alignment.word_pairs import GrowingSide, ParallelText, Sentence
from regard.recipe.alignment import AlignmentRecipe
from regard.tasks.aligned_words import check_pairs
from regard.tasks.fingerprints import refuse_other_text, write_fingerprint
from regard.tasks.task import CountingTask

WORDS = "words.json"
"""File of a model folder with the words of both sides."""
SAY_EVERY = 100_000
"""Pairs between progress lines of reading or training."""


class AlignmentTask(CountingTask):
    """An alignment recipe with its text at hand."""

    def __init__(self, recipe: AlignmentRecipe, text: ParallelText, say: Callable[[str], None] = lambda line: None):
        self.recipe: AlignmentRecipe = recipe
        self.text, self._say = text, say

    @classmethod
    def prepare(cls, recipe: AlignmentRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        """Checks the pairs and says what it found; reads and numbers their words."""
        source, target = GrowingSide(), GrowingSide()

        def take(read: Sentence, written: Sentence) -> None:
            source.add(read)
            target.add(written)

        report = check_pairs(recipe, take)
        report.raise_if_refused()
        for line in report.lines():
            say(with_short_paths(line))
        text = ParallelText.between(source.side, target.side)
        if not len(text):
            raise DataError("\n".join(["train: no pairs are left to learn from", *report.lines()]))
        task = cls(recipe, text, say)
        refuse_other_text(folder, task.fingerprint)
        return task

    @property
    def fingerprint(self) -> str:
        digest = sha256()
        for side in (self.text.source, self.text.target):
            digest.update(json.dumps(side.words).encode())
            digest.update(side.numbers.tobytes() + side.starts.tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        words = {"source": self.text.source.words, "target": self.text.target.words}
        replace_file(folder / WORDS, json.dumps(words, indent=0).encode())
        write_fingerprint(folder, self.fingerprint)

    def build_model(self) -> StatisticalAligner:
        return StatisticalAligner.untrained(self.recipe.model, (self.text.source.words, self.text.target.words))

    def count(self, on_progress: Callable[[int], None]) -> StatisticalAligner:
        def told(what: str, read: int) -> None:
            on_progress(read)
            if read == len(self.text) or read % SAY_EVERY == 0:
                self._say(f"{what}: {read:,} of {len(self.text):,} pairs")

        return learn(self.text, self.recipe.model, told)

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        return {}

    def batches(self, position: CorpusPosition) -> Iterator[tuple[Any, CorpusPosition]]:
        self._has_no_steps()

    def objective(self, model: nn.Module, batch: Any, carry: Any) -> NoReturn:
        self._has_no_steps()

    def describe_batch(self, batch: Any) -> NoReturn:
        self._has_no_steps()

    def _has_no_steps(self) -> NoReturn:
        raise NotImplementedError("an aligner is counted, not trained by steps")


def load_words(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of both sides that an aligner was trained on."""
    path = folder / WORDS
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        source, target = (tuple(map(str, content[side])) for side in ("source", "target"))
        return source, target
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path}: holds no words of an aligner ({error}); restore it from a copy, or train again"
        ) from None
