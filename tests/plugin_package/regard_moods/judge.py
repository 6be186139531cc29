"""A trained judge of moods."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.errors import UsageError
from regard.inspect import Array, Inspection, Outputs
from regard.inspect.outputs import Input
from regard.metrics import MetricScore
from regard.recipe import HeldOut
from regard.tap import record
from regard.vectors import Vectors
from regard_moods.recipe import MoodsRecipe
from regard_moods.task import Judge, Names, Sentence, read_all


class TrainedJudge:
    def __init__(self, recipe: MoodsRecipe, model: Judge, names: Names) -> None:
        self.recipe, self.model, self.names = recipe, model.eval(), names

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        yield from self.model.named_modules()

    @torch.no_grad()
    def judge(self, text: str) -> tuple[str, dict[str, float]]:
        batch = self.names.batch([Sentence(self.names.moods[0], tuple(text.split()))])
        shares = self.model(batch.words, batch.keep).softmax(-1)[0].tolist()
        by_mood = dict(zip(self.names.moods, shares, strict=True))
        return max(by_mood, key=lambda mood: by_mood[mood]), by_mood

    def evaluate(self, split: HeldOut) -> tuple[MetricScore, ...]:
        sentences = read_all(getattr(self.recipe.data, split))
        misses = sum(self.judge(" ".join(each.words))[0] != each.mood for each in sentences)
        return (MetricScore("misses", float(misses), f"of:{len(sentences)}|moods:2.5"),)

    def inspect(self, *texts: str) -> Inspection:
        if len(texts) != 1 or not texts[0].split():
            raise UsageError("a judge of moods reads one sentence; give one")
        with record(self.model, "weights") as seen:
            mood, shares = self.judge(texts[0])
        return Inspection(
            {
                "weights": Array(("source",), seen.last("weights")[0].numpy()),
                "moods": Array(("mood",), np.array(list(shares.values()), dtype=np.float32)),
            },
            {"source": tuple(texts[0].split()), "mood": tuple(shares)},
            title=f"{texts[0]} → {mood}",
        )

    def outputs(self, *texts: str) -> Outputs:
        (text,) = texts
        words = tuple(text.split())

        def run(place: int, axis: str, without: Sequence[Collection[int]]) -> torch.Tensor:
            left = [tuple(word for at, word in enumerate(words) if at not in gone) for gone in without]
            batch = self.names.batch([Sentence(self.names.moods[0], each) for each in left])
            shares: torch.Tensor = self.model(batch.words, batch.keep).log_softmax(-1)
            return shares

        return Outputs(
            self.model,
            "output",
            {"source": words, "output": ("mood",)},
            [self.names.moods.index(self.judge(text)[0])],
            self.names.moods.__getitem__,
            {"source": Input("vectors")},
            run,
            title=text,
        )

    def embeddings(self) -> dict[str, Vectors]:
        return {"words": Vectors(self.names.words, self.model.embedding.weight.detach().numpy().copy())}


def load_judge(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> TrainedJudge:
    path = Path(folder)
    recipe = ModelFolder(path).read_recipe(MoodsRecipe, changes)
    names = Names(**json.loads((path / "names.json").read_text(encoding="utf-8")))
    model = Judge(recipe.model, len(names.words), len(names.moods))
    put_weights(model, load_weights(path), path)
    return TrainedJudge(recipe, model, names)
