"""Runs of models that are counted, not trained by steps: one pass over the text, one checkpoint."""

import time
from collections.abc import Callable, Generator, Mapping

import torch
from torch import Tensor

from regard.checkpoint import (
    Checkpoint,
    ModelFolder,
    Progress,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
    weights_of,
)
from regard.checkpoint.folder import MODEL
from regard.tasks.task import CountingTask
from regard.train.early_stopping import judge
from regard.train.events import Ended, Event, Saved, Started, Validated
from regard.train.ranks import Ranks


class _InterruptionError(Exception):
    """Raised while counting when the process was asked to stop."""


def count(
    task: CountingTask,
    folder: ModelFolder,
    *,
    ranks: Ranks | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """Counts a task's model, validates it and saves it, as a single step. It yields Started, Validated (if there is
    development text), Saved and Ended. A finished run is not repeated."""
    ranks = ranks or Ranks()
    name, _ = find_checkpoint(folder)
    if name is not None:
        before = load_checkpoint(folder, name)
        progress = before.progress
        yield Started(progress.step, numbers_of(before.weights), "cpu", ranks.world, f"resumes from {name}")
        yield _ended(progress, "the model is already counted")
        return
    begun, progress = time.monotonic(), Progress()

    def watch(tokens: int) -> None:
        if interrupted():
            raise _InterruptionError

    try:
        model = task.count(watch)
    except _InterruptionError:
        yield Ended(0, "interrupted", "stopped while counting, which starts over with --resume", None, 0, 0.0)
        return
    weights = weights_of(model)
    parameters = numbers_of(weights)
    yield Started(0, parameters, "cpu", ranks.world, "counts the training text")
    progress.step, progress.seconds = 1, time.monotonic() - begun
    with torch.no_grad():
        metrics = task.validate(model.eval(), decode=False, rank=ranks.rank, world=ranks.world)
    improved = judge(task.recipe, progress, metrics)
    if metrics:
        yield Validated(1, metrics, improved, progress.seconds)
    if ranks.leads:
        yield Saved(1, folder.checkpoints / save_counted(folder, weights, progress))
    yield _ended(progress, f"counted, {parameters:,} numbers")


def save_counted(folder: ModelFolder, weights: dict[str, Tensor], progress: Progress) -> str:
    """Saves a finished model as the only checkpoint of its folder, and returns its name."""
    name = save_checkpoint(folder, Checkpoint(weights, {}, None, None, progress))
    folder.set_chosen(name, MODEL)
    folder.set_current(name)
    return name


def numbers_of(weights: Mapping[str, Tensor]) -> int:
    """The number of parameters of a counted model: probabilities, back-off weights and counts, not indices."""
    return sum(
        tensor.numel() for name, tensor in weights.items() if name.endswith(("log_probs", "back_offs", "counts"))
    )


def _ended(progress: Progress, message: str) -> Ended:
    best = progress.best.value if progress.best else None
    judged = f"; the loss is {best:.4g}" if best is not None else ""
    return Ended(progress.step, "steps", f"{message}{judged}", best, 0, progress.seconds)
