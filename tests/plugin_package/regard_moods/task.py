"""Training a judge of moods."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batches import CorpusPosition
from regard.data.report import Finding, Report
from regard.errors import DataError
from regard.tap import Tap
from regard.tasks.task import Task
from regard_moods.recipe import MoodsCorpus, MoodsModel, MoodsRecipe

ROWS = 4
UNKNOWN = 0


@dataclass(frozen=True)
class Sentence:
    mood: str
    words: tuple[str, ...]


def read(path: str) -> list[Sentence]:
    """The sentences of a file; what has no mood is named by its line."""
    found = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        mood, tilde, text = line.partition(" ~ ")
        if not tilde:
            raise DataError(
                f"{path}:{number}: {line!r} has no mood; write it before ' ~ ', as in 'glad ~ it is spring'"
            )
        found.append(Sentence(mood, tuple(text.split())))
    return found


def read_all(paths: list[str]) -> list[Sentence]:
    return [sentence for path in paths for sentence in read(path)]


def check(corpus: MoodsCorpus) -> Report:
    parts, findings = {}, []
    for part in ("train", "dev", "test"):
        if paths := getattr(corpus.data, part):
            try:
                parts[part] = f"{len(read_all(paths))} sentences"
            except DataError as error:
                findings.append(Finding("malformed", part, 0, str(error), "refused"))
    return Report(parts, tuple(findings))


@dataclass(frozen=True)
class Sentences:
    """A batch."""

    words: Tensor
    keep: Tensor
    moods: Tensor

    @property
    def count(self) -> int:
        return len(self.moods)

    def rows(self, rank: int, world: int) -> Self:
        return self.map(lambda tensor: tensor[rank::world])

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, words=function(self.words), keep=function(self.keep), moods=function(self.moods))


class Judge(nn.Module):
    """Weighs words by a learned query; the tap `weights` shows how, and `vectors` what."""

    def __init__(self, settings: MoodsModel, words: int, moods: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, settings.width)
        self.query = nn.Linear(settings.width, 1)
        self.dropout = nn.Dropout(0.1)
        self.output = nn.Linear(settings.width, moods)
        self.vectors, self.weights = Tap("row", "source", "feature"), Tap("row", "source")

    def forward(self, words: Tensor, keep: Tensor) -> Tensor:
        vectors = self.vectors(self.dropout(self.embedding(words)))
        scores = self.query(vectors).squeeze(-1).masked_fill(~keep, -torch.inf)
        logits: Tensor = self.output((self.weights(scores.softmax(-1)).unsqueeze(-1) * vectors).sum(1))
        return logits


@dataclass(frozen=True)
class Names:
    """What numbers stand for."""

    words: list[str]
    moods: list[str]

    @classmethod
    def of(cls, sentences: list[Sentence]) -> Self:
        words = dict.fromkeys(word for sentence in sentences for word in sentence.words)
        return cls(["<unknown>", *words], sorted({sentence.mood for sentence in sentences}))

    def batch(self, sentences: list[Sentence]) -> Sentences:
        longest = max(max(len(sentence.words) for sentence in sentences), 1)
        numbers = {word: number for number, word in enumerate(self.words)}
        rows = [[numbers.get(word, UNKNOWN) for word in sentence.words] for sentence in sentences]
        words = torch.tensor([row + [UNKNOWN] * (longest - len(row)) for row in rows])
        keep = torch.tensor([[place < max(len(row), 1) for place in range(longest)] for row in rows])
        return Sentences(words, keep, torch.tensor([self.moods.index(sentence.mood) for sentence in sentences]))


class MoodsTask(Task):
    def __init__(self, recipe: MoodsRecipe, train: list[Sentence], dev: list[Sentence]) -> None:
        self.recipe: MoodsRecipe = recipe
        self.train, self.dev, self.names = train, dev, Names.of(train)

    @classmethod
    def prepare(cls, recipe: MoodsRecipe, folder: Path, say: Callable[[str], None]) -> Self:
        for line in check(recipe).lines():
            say(line)
        return cls(recipe, read_all(recipe.data.train), read_all(recipe.data.dev))

    def save(self, folder: Path) -> None:
        content = {"words": self.names.words, "moods": self.names.moods}
        (folder / "names.json").write_text(json.dumps(content), encoding="utf-8")

    def build_model(self) -> Judge:
        return Judge(self.recipe.model, len(self.names.words), len(self.names.moods))

    def batches(self, position: CorpusPosition) -> Iterator[tuple[Sentences, CorpusPosition]]:
        count = -(-len(self.train) // ROWS)
        while True:
            order = torch.randperm(
                len(self.train), generator=torch.Generator().manual_seed(self.recipe.seed + position.epoch)
            ).tolist()
            chosen = order[position.batch * ROWS : (position.batch + 1) * ROWS]
            after = position.batch + 1
            position = CorpusPosition(position.epoch + after // count, 0, after % count)
            yield self.names.batch([self.train[place] for place in chosen]), position

    def objective(self, model: nn.Module, batch: Sentences, carry: None) -> tuple[Tensor, None]:
        return F.cross_entropy(model(batch.words, batch.keep), batch.moods, reduction="sum"), None

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        if not self.dev:
            return {}
        batch = self.names.batch(self.dev)
        logits = model(batch.words, batch.keep)
        misses = (logits.argmax(-1) != batch.moods).sum().item()
        return {"loss": F.cross_entropy(logits, batch.moods).item(), "misses": float(misses)}

    def describe_batch(self, batch: Sentences) -> Any:
        return [{"mood": self.names.moods[mood]} for mood in batch.moods.tolist()]
