"""What a validation prints is what `evaluate` says of its checkpoint."""

from pathlib import Path

import pytest
from torch import cuda

from regard.checkpoint import ModelFolder
from regard.checkpoint.folder import AVERAGE, MODEL
from regard.recipe import read_recipe
from regard.tasks import load_translator
from regard.tasks.evaluation import evaluate, split_of
from regard.train import Event, Saved, Validated, run

RECIPE = [
    "data.corpus=copy",
    "data.examples=200",
    "tokens.source.kind=characters",
    "tokens.target.kind=characters",
    "model.kind=recurrent",
    "model.embedding=12",
    "model.hidden=12",
    "model.attention.hidden=12",
    "train.steps=24",
    "train.batch_tokens=128",
    "train.optimizer.rate=2e-2",
    "train.schedule.warmup=2",
    "train.validation.every=8",
    "train.validation.metric=chrf",
    "train.validation.examples=0",
    "train.keep=9",
]


NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.spread(1)
@pytest.mark.parametrize("decay", [0.0, 0.9])
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
def test_a_validation_prints_what_evaluate_says_of_its_checkpoint(tmp_path: Path, device: str, decay: float) -> None:
    told: list[Event] = []
    recipe = read_recipe(None, [*RECIPE, f"train.device={device}", f"train.average.decay={decay}"])
    run(recipe, tmp_path, reporter=told.append)
    printed = {event.step: event.metrics for event in told if isinstance(event, Validated)}
    saved = {event.step: event.path.name for event in told if isinstance(event, Saved)}
    assert len({metrics["chrf"] for metrics in printed.values()}) == len(printed) == 3  # or nothing could be told
    for step, metrics in printed.items():
        ModelFolder(tmp_path).set_chosen(saved[step], AVERAGE if decay else MODEL)
        found = evaluate(load_translator(tmp_path, device=device), split_of(recipe, "dev"))
        accuracy, bleu, chrf, _ = (score.value for score in found.scores)
        assert (metrics["accuracy"], metrics["bleu"], metrics["chrf"]) == (accuracy, bleu, chrf)
