"""Saves and restores the checkpoints of a run. Only the leading process writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from regard.checkpoint import (
    Checkpoint,
    ModelFolder,
    Progress,
    cannot_write,
    find_checkpoint,
    load_checkpoint,
    load_weights,
    prune,
    save_average,
    save_checkpoint,
)
from regard.checkpoint.folder import AVERAGE, MODEL
from regard.errors import ModelError, TrainingError
from regard.recipe import Training
from regard.train.averaging import average_of
from regard.train.background import Background
from regard.train.learner import Learner
from regard.train.ranks import Ranks


class Keeper:
    """The checkpoints of a run: which is current, which is chosen, which are deleted. Every process calls every method.

    With `background`, a checkpoint is written in a thread; `settle` waits until it is on disk.
    """

    def __init__(self, folder: ModelFolder, settings: Training, ranks: Ranks, *, background: bool = False) -> None:
        self.folder, self.settings, self.ranks = folder, settings, ranks
        self._background = Background() if background else None

    def find(self) -> tuple[str | None, list[str]]:
        """The checkpoint to resume from (None in a new run), and error messages for newer ones."""
        found: tuple[str | None, list[str]] = (None, [])
        if self.ranks.leads and self.folder.checkpoints.is_dir():
            self.folder.sweep()
            found = find_checkpoint(self.folder)
        name, complaints = self.ranks.agree(found)
        if name is None and complaints:
            # Each complaint advises to continue from an intact checkpoint, but no checkpoint is intact.
            plain = [complaint.removesuffix(f"; {self.folder.advice()}") for complaint in complaints]
            raise ModelError("\n".join(["no checkpoint of this run is intact:", *plain, self.folder.last_resort()]))
        return name, complaints

    def resume(self, learner: Learner, name: str) -> Progress:
        """Restores the learner from a checkpoint, and repairs `chosen` if its weights are gone."""
        checkpoint = load_checkpoint(self.folder, name)
        learner.restore(checkpoint, self.folder.checkpoints / name)
        progress = checkpoint.progress
        if self.ranks.leads:
            with self._writing(f"checkpoint {name}"):
                try:
                    load_weights(self.folder.path)
                except ModelError:
                    # The best is lost; this one replaces it until the next improvement.
                    progress.best = None
                    self.folder.set_chosen(name, checkpoint.used)
                self.folder.set_current(name)
        progress.best = self.ranks.agree(progress.best)
        return progress

    def save(self, learner: Learner, progress: Progress, *, improved: bool = False, regular: bool = False) -> Path:
        """Saves a checkpoint and makes it current; also chosen if it is the best or nothing has been validated yet. A
        `regular` one, saved at a validation, may enter the average of the last checkpoints."""
        self.settle()  # at most one checkpoint in memory, and its name is no longer free
        checkpoint = learner.capture(progress)
        name = self.ranks.agree(self.folder.free_name("step", progress.step))
        if regular and self.settings.average.checkpoints:
            progress.validated = [*progress.validated, name][-self.settings.average.checkpoints :]
        if self.ranks.leads:
            store = partial(self._store, name, chosen=improved or progress.best is None)
            if self._background:
                self._background.begin(partial(store, checkpoint.copy()))
            else:
                store(checkpoint)
        return self.folder.checkpoints / name

    def _store(self, name: str, checkpoint: Checkpoint, *, chosen: bool) -> None:
        save_checkpoint(self.folder, checkpoint)
        with self._writing(f"checkpoint {name}"):
            # First chosen, then current: if we are killed in between, resuming repeats this step.
            if chosen:
                self.folder.set_chosen(name, checkpoint.used)
            self.folder.set_current(name)
            prune(self.folder, self.settings.keep, checkpoint.progress.validated)

    def settle(self, *, wait: bool = True) -> None:
        """Waits until the last checkpoint is on disk, and raises its error; without `wait`, only if it has failed."""
        if self._background:
            self._background.settle(wait=wait)

    def close(self) -> None:
        """Waits until the last checkpoint is on disk, raises its error, and stops the thread."""
        if self._background:
            self._background.close()

    def go_back(self, learner: Learner, progress: Progress) -> Progress:
        """Restores the learner from the last good checkpoint, with half the rate, and saves that at once, in case we
        are killed. Deletes later checkpoints, except the best."""
        self.settle()
        name, complaints = self.ranks.agree(find_checkpoint(self.folder, good=True) if self.ranks.leads else (None, []))
        if name is None:
            raise TrainingError("\n".join([f"{self.folder.path}: no good checkpoint to go back to", *complaints]))
        checkpoint = load_checkpoint(self.folder, name)
        learner.restore(checkpoint, self.folder.checkpoints / name)
        earlier = checkpoint.progress
        restored = replace(
            earlier,
            rate_factor=earlier.rate_factor / 2,
            setbacks=earlier.setbacks + 1,
            # Not rolled back.
            seconds=progress.seconds,
            skipped=progress.skipped,
            best=progress.best,
        )
        new = self.save(learner, restored).name
        self.settle()
        if self.ranks.leads:
            chosen = self.folder.chosen()
            with self._writing(f"checkpoint {new}"):
                for later in self.folder.names()[self.folder.names().index(new) + 1 :]:
                    if chosen is None or later != chosen[0]:
                        self.folder.remove(later)
        return restored

    def average(self, progress: Progress) -> str | None:
        """Saves the average of the last checkpoints; returns its name, or None if that is off."""
        name = None
        if self.ranks.leads and self.settings.average.checkpoints and progress.validated:
            file = AVERAGE if self.settings.average.decay else MODEL
            name = save_average(self.folder, average_of(self.folder, progress.validated, file), progress.step)
        return self.ranks.agree(name)

    def end_average(self, name: str, progress: Progress, *, chosen: bool) -> None:
        """Makes an average the final model, or removes it."""
        if self.ranks.leads:
            with self._writing(name):
                if chosen:
                    self.folder.set_chosen(name, MODEL)
                prune(self.folder, self.settings.keep, progress.validated)

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise cannot_write(self.folder, what, error) from error
