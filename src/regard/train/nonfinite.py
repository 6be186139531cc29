"""Detection of non-finite steps: the device skips them by itself; here their outcomes are read late and counted."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from regard.checkpoint import ModelFolder, Progress, cannot_write
from regard.data.batches import CorpusPosition
from regard.disk import replace_file
from regard.errors import TrainingError
from regard.tasks.task import Task
from regard.train.events import Step

SETBACKS = 3
"""Rollbacks without a good validation in between before training gives up."""


@dataclass(frozen=True)
class Unread:
    """A step whose outcome is still on the device."""

    step: int
    position: CorpusPosition
    """Before the step, to read its batches again."""
    micro_batches: int
    epoch: float
    """After the step."""
    rate: float
    count: int
    outcome: Tensor
    aside: float = 0.0
    """Seconds spent on other things than steps since the last resume."""


class Guard:
    """Reads the outcomes of steps late, several at a time, because each read waits for the device."""

    def __init__(self, every: int) -> None:
        self.every = every
        """Steps between reads."""
        self.interrupted = False
        """Whether any process was asked to stop."""
        self._suspect: tuple[Step, Unread] | None = None
        self._unread: list[Unread] = []

    def watch(self, step: Unread) -> None:
        self._unread.append(step)

    def due(self) -> bool:
        return len(self._unread) >= self.every

    def read(self, progress: Progress) -> Iterator[Step]:
        """The steps since the last read; updates the time and the skipped steps in `progress`."""
        unread, self._unread = self._unread, []
        outcomes = torch.stack([step.outcome for step in unread]).tolist() if unread else []
        for step, (loss, interruptions, seconds, norm, bad) in zip(unread, outcomes, strict=True):
            read = Step(step.step, loss, norm, step.rate, step.count, step.epoch, seconds, bool(bad), step.aside)
            progress.seconds = seconds
            progress.targets += 0 if bad else step.count
            progress.skipped += bool(bad)
            progress.streak = progress.streak + 1 if bad else 0
            if bad and (self._suspect is None or progress.streak == 1):
                self._suspect = read, step
            self.interrupted = self.interrupted or interruptions > 0
            yield read

    def keep_batch(self, task: Task, folder: ModelFolder) -> Path:
        """Writes the batch of the first non-finite step to a file, for inspection."""
        assert self._suspect is not None, "only called after a non-finite step"
        first, read_late = self._suspect
        path = folder.bad_batches / f"step-{first.step}.json"
        batches = islice(task.batches(read_late.position), read_late.micro_batches)
        record = {
            "step": first.step,
            "loss": str(first.loss),
            "norm": str(first.norm),
            "rate": first.rate,
            "batches": [task.describe_batch(batch) for batch, _ in batches],
        }
        try:
            folder.bad_batches.mkdir(exist_ok=True)
            replace_file(path, json.dumps(record, ensure_ascii=False, indent=2).encode())
        except OSError as error:
            raise cannot_write(folder, path.name, error) from error
        return path


def hopeless(step: int, rate: float, batch: Path) -> TrainingError:
    """The error when rolling back did not help."""
    return TrainingError(
        f"step {step}: loss or gradient stayed non-finite {SETBACKS + 1} times from the same checkpoint, "
        f"last at a rate of {rate:.3g}. Nothing non-finite was saved. The batch it began with is in {batch}; "
        "look at it, then lower train.optimizer.rate, raise train.schedule.warmup or lower train.clip"
    )
