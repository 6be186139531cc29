"""A small translation task whose batches have few shapes, and ways to go through its steps."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import torch
from pair_strategies import ListedPairs
from torch import Tensor

from regard import recipe
from regard.checkpoint import weights_of
from regard.data.batches import CorpusPosition
from regard.recipe import parse_recipe
from regard.tasks.task import Batch, Task
from regard.tasks.translation import TranslationTask
from regard.tokens import train_tokenizer
from regard.train.captured import CapturedRunner, Work
from regard.train.learner import Learner
from regard.train.optimizers import optimizer_state
from regard.train.ranks import Ranks
from regard.train.runtime import Plan

CPU = torch.device("cpu")

MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"width": 32, "heads": 4, "feedforward": 48, "encoder_layers": 2, "decoder_layers": 2},
    "recurrent": {"embedding": 16, "hidden": 24, "dropout": {"between": 0.2, "output": 0.2}},
}
for _kind, _also in {"transformer": {}, "recurrent": {"attention": {"coverage": True}}}.items():
    MODELS[f"copying-{_kind}"] = {"kind": _kind, **MODELS[_kind], **_also, "copying": True}


def translation(kind: str = "transformer", *, pairs: int = 240, **train: Any) -> TranslationTask:
    """Pairs of letters; steps with dropout, averaging and few shapes unless `train` says otherwise."""
    table = {"steps": 20, "batch_tokens": 96, "shapes": 2, "log_every": 1, "average": {"decay": 0.9}}
    table |= {"compile": False} | train
    described = {"seed": 3, "data": {"corpus": "copy"}, "model": {"kind": kind, **MODELS[kind]}, "train": table}
    tokenizer = train_tokenizer(recipe.TokenizerSettings(kind="characters"), ["abcdefgh"])
    rng = np.random.default_rng(5)
    listed = [
        (rng.integers(4, 12, length).tolist(), rng.integers(4, 12, length // 2).tolist())
        for length in rng.integers(1, 15, pairs)
    ]
    return TranslationTask(parse_recipe(described), tokenizer, tokenizer, ListedPairs(listed), [])


def steps_of(task: TranslationTask, count: int, start: int = 1) -> list[tuple[list[Batch], Plan]]:
    """What the loop would give to the runner, with a rate of its own at each step."""
    size = task.recipe.train.accumulate
    batches = [batch for batch, _ in islice(task.batches(CorpusPosition()), size * (start + count))]
    found = []
    for step in range(start, start + count):
        chosen = batches[size * (step - 1) : size * step]
        plan = Plan(step, sum(batch.count for batch in chosen), 1e-3 * step, interrupted=False, seconds=1.0)
        found.append((chosen, plan))
    return found


def outcomes(learner: Learner, steps: list[tuple[list[Batch], Plan]]) -> list[Tensor]:
    return [learner.runner.run(chosen, plan, None)[0] for chosen, plan in steps]


def state_of(learner: Learner) -> dict[str, Tensor]:
    """All that steps change, copied."""
    parts = {
        "model": weights_of(learner.model),
        "used": weights_of(learner.used),
        "optimizer": optimizer_state(learner.model, learner.optimizer),
    }
    return {f"{part}/{name}": tensor.clone() for part, found in parts.items() for name, tensor in found.items()}


def assert_same_bits(ours: Learner, theirs: Learner) -> None:
    mine, other = state_of(ours), state_of(theirs)
    assert mine.keys() == other.keys()
    assert [name for name in mine if not torch.equal(mine[name], other[name])] == []


class Remembered:
    """Stands for a graph: does the work when it is replayed, and counts."""

    def __init__(self) -> None:
        self.made, self.replayed = 0, 0

    def __call__(self, work: Work) -> Work:
        self.made += 1

        def replay() -> None:
            self.replayed += 1
            work()

        return replay


def learner_with(task: Task, capture: Callable[[Work], Work]) -> Learner:
    learner = Learner(task, CPU, Ranks())
    parts = task, learner.model, learner.optimizer, learner.average, CPU, Ranks()
    learner.runner = CapturedRunner(*parts, capture=capture)
    return learner
