"""The training loop."""

import copy
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import torch
from torch import nn

from regard.checkpoint import ModelFolder, load_weights, put_weights
from regard.data.batches import CorpusPosition
from regard.data.prefetching import Prefetched
from regard.device import choose_device, in_transit, is_asynchronous
from regard.errors import TrainingError
from regard.recipe import Training
from regard.tasks.task import Batch, Task
from regard.train.early_stopping import average_is_chosen, in_words, judge, reason_to_end
from regard.train.events import Averaged, Ended, Event, Noted, Reason, Saved, Started, Validated, WentBack
from regard.train.learner import Learner
from regard.train.memory import enough_memory
from regard.train.nonfinite import SETBACKS, Guard, Unread, hopeless
from regard.train.ranks import Ranks
from regard.train.runtime import Plan, precision
from regard.train.saving import Keeper
from regard.train.schedules import rate_of
from regard.train.starting import begin

READ_EVERY = 10
"""Most steps between two reads from an accelerator; on a CPU every step is read."""


def train(
    task: Task,
    folder: ModelFolder,
    *,
    ranks: Ranks | None = None,
    device: torch.device | None = None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """Trains a task's model in a folder, from its current checkpoint if there is one, until a limit of the recipe is
    reached or `interrupted` returns True. Nothing happens before the first event is requested. It yields

        Started      once, first
        Saved        for every checkpoint: of a new model, at validations, and at the end; on an accelerator it is
                     still being written then, but on disk before any event but Step and Noted follows
        Step         for every step, in order; on an accelerator several at a time, because they are read late
        WentBack     when steps stay non-finite; the steps after that checkpoint are repeated
        Noted        for messages about how steps are executed
        Validated    every `train.validation.every` steps and at the end, if there is development text
        Averaged     at the end, if the last checkpoints are averaged
        Ended        once, last

    and raises TrainingError if rolling back does not help, or the disk or the device's memory is full. The same task
    ends with the same weights (on the CPU, bit for bit), however often the run was interrupted.
    """
    parts = task, folder, ranks or Ranks(), device or choose_device(task.recipe.train.device), interrupted
    with _Run(*parts) as run:
        # Start from the current checkpoint, or with a new model, which is saved at once.
        yield from run.start()
        reason = run.reason()
        while reason is None:
            # One step. Nothing is read back from the device here.
            run.step()

            # If there is nothing to decide, do not wait for the device.
            if not (run.is_regular or run.guard.due() or run.reason()):
                continue
            yield from run.guard.read(run.progress)
            yield from run.news()
            run.keeper.settle(wait=False)

            # If steps stay non-finite, roll back to the last good checkpoint.
            if run.progress.streak >= run.settings.bad_steps:
                yield run.go_back()
                continue

            # Validate. Regular validations take place even if we were asked to stop: a resumed run could not repeat the
            # decisions that depend on them.
            reason = run.reason() or ("interrupted" if run.guard.interrupted else None)
            if run.is_regular or reason not in (None, "interrupted"):
                yield from run.validate()
                reason = reason or run.reason()
            elif reason:
                yield run.save()

        # Average the last checkpoints and end.
        yield from run.end(reason)


class _Run:
    """The operations of a run, called by `train`."""

    def __init__(
        self, task: Task, folder: ModelFolder, ranks: Ranks, device: torch.device, interrupted: Callable[[], bool]
    ) -> None:
        self.task, self.folder, self.ranks, self.device, self.interrupted = task, folder, ranks, device, interrupted
        self.settings = task.recipe.train
        self.learner = Learner(task, device, ranks)
        self.keeper = Keeper(folder, self.settings, ranks, background=saves_in_background(device))
        most = READ_EVERY if is_asynchronous(device) else 1
        self.summary = ""
        self.prefetched: Prefetched[tuple[Batch, CorpusPosition]] | None = None
        self.aside = 0.0
        """Seconds spent on validating and saving since the last resume."""
        self.guard = Guard(every=min(most, self.settings.bad_steps, self.settings.log_every))

    def start(self) -> Iterator[Event]:
        self.progress, message, is_new = begin(self.task, self.learner, self.keeper)
        self.started = time.monotonic() - self.progress.seconds
        self._fetch()
        yield Started(self.progress.step, self.learner.parameters, str(self.device), self.ranks.world, message)
        yield from self.news()
        if is_new:
            yield self.save()

    def _fetch(self) -> None:
        """Batches from the current position; for an accelerator they are prefetched into pinned memory."""
        self._drop_fetched()
        self.batches = self.task.batches(self.progress.position)
        if is_asynchronous(self.device):

            def prepare(item: tuple[Batch, CorpusPosition]) -> tuple[Batch, CorpusPosition]:
                return item[0].map(partial(in_transit, device=self.device)), item[1]

            self.batches = self.prefetched = Prefetched(self.batches, prepare)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the background threads. If the loop itself has failed, the failure to write a checkpoint becomes a note
        of its exception."""
        try:
            self._drop_fetched()
        finally:
            self._close_keeper(error)

    def _close_keeper(self, error: BaseException | None) -> None:
        try:
            self.keeper.close()
        except TrainingError as failure:
            if error is None or isinstance(error, GeneratorExit):
                raise
            error.add_note(str(failure))

    def _drop_fetched(self) -> None:
        if self.prefetched is not None:
            self.prefetched.close()

    def news(self) -> Iterator[Noted]:
        """New messages about how steps are executed; at validations, a summary if it has changed."""
        runner = self.learner.runner
        summary = runner.sum_up() if self.is_regular or self.reason() else ""
        if summary not in ("", self.summary):
            self.summary = summary
            runner.news.append(summary)
        lines, runner.news = runner.news, []
        yield from (Noted(self.progress.step, line) for line in lines)

    def reason(self) -> Reason | None:
        return reason_to_end(self.task.recipe, self.progress)

    @property
    def is_regular(self) -> bool:
        """Whether a validation is due by the recipe."""
        return self.progress.step % self.settings.validation.every == 0

    def clock(self) -> float:
        """Seconds trained, including before a resume, by this process's clock."""
        return time.monotonic() - self.started

    def step(self) -> None:
        """Runs the next step; the guard gets its outcome, still on the device."""
        progress = self.progress
        before = progress.position
        micro_batches, progress.position = _take(self.batches, self.settings, before)
        progress.step += 1
        count = sum(batch.count for batch in micro_batches)
        rate = rate_of(self.settings, progress)
        plan = Plan(progress.step, count, rate, self.interrupted(), self.clock())
        with enough_memory(progress.step, self.task.sizes(decode=False)):
            outcome, self.learner.carry = self.learner.runner.run(micro_batches, plan, self.learner.carry)
        epoch = self.task.passes(progress.position)
        self.guard.watch(Unread(progress.step, before, len(micro_batches), epoch, rate, count, outcome, self.aside))

    def go_back(self) -> WentBack:
        """Rolls back to the last good checkpoint, with half the rate."""
        step, rate = self.progress.step, rate_of(self.settings, self.progress)
        kept = self.ranks.agree(self.guard.keep_batch(self.task, self.folder) if self.ranks.leads else Path())
        if self.progress.setbacks >= SETBACKS:
            raise hopeless(step, rate, kept)
        with self._aside():
            self.progress = self.keeper.go_back(self.learner, self.progress)
        self._fetch()
        return WentBack(step, self.progress.step, self.progress.rate_factor, kept)

    def validate(self) -> Iterator[Event]:
        """Validates the model that would be used, and saves."""
        self._settle()
        metrics = self._measure(self.learner.used)
        before = self.progress.averaged_since
        improved = judge(self.task.recipe, self.progress, metrics)
        if self.progress.streak == 0:
            self.progress.setbacks = 0
        if metrics:
            yield Validated(self.progress.step, metrics, improved, self.progress.seconds)
        if self.learner.average and self.progress.averaged_since != before:
            # Before it is saved: a run that is killed after that and resumed would not note it again.
            yield Noted(self.progress.step, "no improvement for a while: from here on weights are averaged")
        yield self.save(improved=improved, regular=True)
        if self.learner.average:
            self.learner.average.since = self.progress.averaged_since

    def save(self, *, improved: bool = False, regular: bool = False) -> Saved:
        with self._aside():
            path = self.keeper.save(self.learner, self.progress, improved=improved, regular=regular)
        return Saved(self.progress.step, path)

    def end(self, reason: Reason) -> Iterator[Event]:
        self._settle()
        progress = self.progress
        best = progress.best.value if progress.best else None
        name = None if reason == "interrupted" else self.keeper.average(progress)
        averaged = None if name is None else self._judge_average(name)
        if averaged is not None:
            yield averaged
            best = averaged.metrics.get(self.settings.validation.metric, best) if averaged.chosen else best
        message = in_words(reason, self.settings, progress, averaged)
        yield Ended(progress.step, reason, message, best, progress.skipped, progress.seconds)

    def _judge_average(self, name: str) -> Averaged:
        """Measures an average of checkpoints, and chooses it as the final model unless the best of them is better."""
        final, path, progress = copy.deepcopy(self.learner.used), self.folder.checkpoints / name, self.progress
        put_weights(final, load_weights(self.folder.path, name), path)
        metrics = self._measure(final)
        chosen = not metrics or average_is_chosen(self.task.recipe, progress, metrics)
        self.keeper.end_average(name, progress, chosen=chosen)
        return Averaged(progress.step, len(progress.validated), metrics, path, chosen)

    def _settle(self) -> None:
        """Waits until the last checkpoint is on disk."""
        with self._aside():
            self.keeper.settle()

    def _measure(self, model: nn.Module) -> Mapping[str, float]:
        """Metrics on the development text, the same on all ranks; updates the time trained."""
        decode = self.task.recipe.validates_by_decoding
        mode = model.training
        model.eval()
        enough = enough_memory(self.progress.step, self.task.sizes(decode=decode))
        with self._aside(), enough, torch.no_grad(), precision(self.settings, self.device):
            metrics = self.task.validate(model, decode=decode, rank=self.ranks.rank, world=self.ranks.world)
        model.train(mode)
        metrics, self.progress.seconds = self.ranks.agree((metrics, self.clock()))
        return metrics

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Excludes the block from the throughput of steps."""
        began = self.clock()
        yield
        self.aside += self.clock() - began


def saves_in_background(device: torch.device) -> bool:
    """Whether checkpoints are written during steps: on an accelerator, the CPU has time for that."""
    return is_asynchronous(device)


def _take(
    batches: Iterator[tuple[Batch, CorpusPosition]], settings: Training, position: CorpusPosition
) -> tuple[list[Batch], CorpusPosition]:
    """The micro-batches of a step and the position after them: `accumulate` of them, fewer at the end of the last
    epoch."""
    taken: list[Batch] = []
    while len(taken) < settings.accumulate and not (settings.epochs and position.epoch >= settings.epochs):
        batch, position = next(batches)
        taken.append(batch)
    return taken, position
