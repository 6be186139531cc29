"""A task small enough to train in milliseconds, with everything that can go wrong in it: dropout, ragged batches,
sampled data, a carry."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.data.batches import CorpusPosition
from regard.recipe import Recipe, parse_recipe
from regard.tasks.task import Task

CLASSES, FEATURES, PASS = 3, 4, 5


def recipe_for(**train: Any) -> Recipe:
    """A recipe whose model is beside the point; `train` is its `[train]` table, short runs by default."""
    quick = {"steps": 12, "log_every": 1, "device": "cpu", "label_smoothing": 0.0}
    table = quick | {"schedule": {"kind": "constant", "warmup": 0}} | {"validation": {"every": 4}} | train
    return parse_recipe({"seed": 3, "data": {"corpus": "copy"}, "model": {"kind": "recurrent"}, "train": table})


@dataclass(frozen=True)
class Points:
    """Rows of features with a class each."""

    features: Tensor
    classes: Tensor

    @property
    def count(self) -> int:
        return len(self.classes)

    def rows(self, rank: int, world: int) -> Self:
        return replace(self, features=self.features[rank::world], classes=self.classes[rank::world])

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, features=function(self.features), classes=function(self.classes))

    def to(self, device: torch.device) -> Self:
        return self.map(lambda tensor: tensor.to(device))


class Classifier(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(FEATURES, 6)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(6, CLASSES)

    def forward(self, features: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(torch.tanh(self.hidden(features))))
        return logits


class Classify(Task):
    """Points of three classes, in passes of five ragged batches. At the steps in `bad` the loss is not a number."""

    def __init__(
        self,
        recipe: Recipe,
        *,
        dropout: float = 0.3,
        dtype: torch.dtype = torch.float32,
        bad: Mapping[CorpusPosition, float] | None = None,
        carries: bool = False,
        dev: bool = True,
    ) -> None:
        self.recipe, self.dropout, self.dtype, self.carries, self.dev = recipe, dropout, dtype, carries, dev
        self.bad = bad or {}
        self.validations: list[dict[str, Any]] = []

    def save(self, folder: Path) -> None:
        (folder / "words.json").write_text("[]", encoding="utf-8")

    def build_model(self) -> nn.Module:
        return Classifier(self.dropout).to(self.dtype)

    def batch_at(self, position: CorpusPosition) -> Points:
        """A pure function of seed and position, as the contract wants it."""
        generator = torch.Generator().manual_seed(self.recipe.seed * 1000 + position.epoch * PASS + position.batch)
        rows = int(torch.randint(1, 9, (), generator=generator))
        features = torch.randn(rows, FEATURES, generator=generator, dtype=self.dtype)
        return Points(features * self.bad.get(position, 1.0), features[:, :CLASSES].argmax(-1))

    def batches(self, position: CorpusPosition) -> Iterator[tuple[Points, CorpusPosition]]:
        while True:
            after = position.batch + 1
            following = CorpusPosition(position.epoch + after // PASS, 0, after % PASS)
            yield self.batch_at(position), following
            position = following

    def objective(self, model: nn.Module, batch: Points, carry: Any) -> tuple[Tensor, Any]:
        logits = model(batch.features)
        if self.carries:
            memory = carry["memory"] if carry else torch.zeros(CLASSES, dtype=self.dtype, device=logits.device)
            logits = logits + memory
            carry = {"memory": (memory / 2 + logits.detach().mean(0)).detach()}
        return F.cross_entropy(logits, batch.classes, reduction="sum"), carry

    def validate(self, model: nn.Module, *, decode: bool, rank: int, world: int) -> Mapping[str, float]:
        self.validations.append({"decode": decode, "training": model.training})
        if not self.dev:
            return {}
        generator = torch.Generator().manual_seed(99)
        features = torch.randn(20, FEATURES, generator=generator, dtype=self.dtype)
        classes = features[:, :CLASSES].argmax(-1)
        device = next(model.parameters()).device
        logits = model(features.to(device)).float()
        found = {"loss": F.cross_entropy(logits, classes.to(device)).item()}
        return found | ({"accuracy": (logits.argmax(-1).cpu() == classes).double().mean().item()} if decode else {})

    def describe_batch(self, batch: Points) -> Any:
        return [{"class": label} for label in batch.classes.tolist()]
