"""A model on disk is a folder.

    recipe.toml                      the resolved recipe
    format.json                      by which format and version of Regard it was written (`regard.format_version`)
    …                                what the task needs besides weights; the task writes and names it (translation:
                                     tokenizer.source.json, tokenizer.target.json; language: tokenizer.json; both:
                                     corpus.sha256, which tells the text of the run from any other)
    metrics.jsonl                    one record a line
    tensorboard/                     the same as curves, if TensorBoard is installed
    cache/                           the training text as tokens; may be deleted, and is then made again
    .lock, .owner                    keep other trainings out while one is at work; the second holds its process number
    checkpoints/step-00000100/       model.safetensors, optimizer.safetensors, average.safetensors (if averaging is on),
                                     carry.safetensors (if the task carries state on), progress.json, checksums.json
    checkpoints/average-00000500/    model.safetensors, checksums.json: the average of the last checkpoints
    current                          the checkpoint that resuming goes on from
    chosen                           the weights to use: the best by the metric, or the final average
    bad-batches/step-117.json        what the model was given when the loss was not finite

`current` and `chosen` are small text files, replaced atomically after what they name is safe on disk.
Names in `checkpoints` that begin with `.unfinished-` or `.going-` are unfinished or about to go, and may be deleted
when no training runs.
"""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from filelock import BaseFileLock, FileLock, Timeout

from regard.disk import replace_file
from regard.errors import ModelError, UsageError
from regard.format_version import FILE, FormatVersion
from regard.recipe import AnyRecipe, read_recipe, write_recipe
from regard.recipe.packages import packages_of

R = TypeVar("R", bound=AnyRecipe)

MODEL, AVERAGE = "model.safetensors", "average.safetensors"
OPTIMIZER, CARRY = "optimizer.safetensors", "carry.safetensors"
PROGRESS, CHECKSUMS = "progress.json", "checksums.json"
LOCK, OWNER = ".lock", ".owner"

# A second number tells apart checkpoints of the same step, which a run that went back can reach twice.
CHECKPOINT = re.compile(r"(step|average)-(\d{8,})(?:\.(\d+))?")
LEFT_OVER = re.compile(rf"\.(unfinished|going)-{CHECKPOINT.pattern}")
CHOSEN_WEIGHTS = re.compile(r"((?:step|average)-\d{8,}(?:\.\d+)?)/(model|average)\.safetensors")


@dataclass(frozen=True)
class ModelFolder:
    """Where the parts of a model are, and which of its checkpoints count."""

    path: Path

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.toml"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    @property
    def bad_batches(self) -> Path:
        return self.path / "bad-batches"

    @property
    def is_begun(self) -> bool:
        """Whether a training has saved anything here; one that was refused before that leaves nothing to lose."""
        return self.checkpoints.exists()

    @property
    def goes_on(self) -> bool:
        """Whether a training here goes on with a run whose recipe is known."""
        return self.is_begun and self.recipe.exists()

    def names(self, kind: str = "step") -> list[str]:
        """Names of the checkpoints (or, with kind `average`, of the averages) by step, oldest first."""
        if not self.checkpoints.is_dir():
            return []
        found = [match for match in map(CHECKPOINT.fullmatch, os.listdir(self.checkpoints)) if match]
        found.sort(key=lambda match: (int(match[2]), int(match[3] or 0)))
        return [match[0] for match in found if match[1] == kind]

    def free_name(self, kind: str, step: int) -> str:
        """A name for a new checkpoint; nothing that has a name is ever written over."""
        name, again = f"{kind}-{step:08}", 0
        while (self.checkpoints / name).exists():
            again += 1
            name = f"{kind}-{step:08}.{again}"
        return name

    def current(self) -> str | None:
        """Name of the checkpoint to resume from; None before the first is saved."""
        text = self._pointer("current")
        if text is not None and not CHECKPOINT.fullmatch(text):
            raise ModelError(f"{self.path / 'current'}: {text!r} is not the name of a checkpoint; {self.advice()}")
        return text

    def chosen(self) -> tuple[str, str] | None:
        """Checkpoint and file of the weights to use; None before the first is saved."""
        text = self._pointer("chosen")
        if text is None:
            return None
        match = CHOSEN_WEIGHTS.fullmatch(text)
        if not match:
            raise ModelError(f"{self.path / 'chosen'}: {text!r} is not the name of weights; {self.advice()}")
        return match[1], f"{match[2]}.safetensors"

    def set_current(self, name: str) -> None:
        replace_file(self.path / "current", f"{name}\n".encode())

    def set_chosen(self, name: str, file: str) -> None:
        replace_file(self.path / "chosen", f"{name}/{file}\n".encode())

    def check_is_model(self) -> None:
        """Refuses what is not the folder of a model at all."""
        if not self.path.exists():
            raise ModelError(
                f"{self.path}: no such folder; name the folder of a trained model (`regard train` makes one)"
            )
        if not self.path.is_dir():
            raise ModelError(f"{self.path}: this is a file; name the folder of a trained model")
        if not self.recipe.is_file():
            raise ModelError(
                f"{self.path}: this is not the folder of a model: it has no recipe.toml; name one that `regard train` "
                "made"
            )

    def read_recipe(self, kind: type[R], changes: Sequence[str] = ()) -> R:
        """The recipe of the model that is here, with `key=value` changes; a model that this version would take for
        another is refused."""
        self.check_is_model()
        written = FormatVersion.read(self.path)
        written.check_readable(self.path)
        written.check_packages(self.path)
        return read_recipe(self.recipe, changes, kind=kind, saved=True)

    def write_recipe(self, recipe: AnyRecipe) -> None:
        """Writes by whom the model was begun, and its recipe. That comes last: where it is, the rest is whole."""
        if not self.goes_on:
            replace_file(self.path / FILE, FormatVersion.now(packages_of(recipe)).to_json())
        replace_file(self.recipe, write_recipe(recipe).encode())

    def check_may_train(self, resume: bool) -> None:
        """Refuses to train over an existing model, or on with one that another version began and this one would not
        end alike; call it before long preparations."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file, but a model is a folder; choose another --out")
        if self.is_begun and not resume:
            raise UsageError(
                f"{self.path}: there is a model here already; "
                "go on with it by --resume, choose another --out, or delete the folder"
            )
        if self.is_begun and (self.recipe.exists() or (self.path / FILE).exists()):
            FormatVersion.read(self.path).check_resumable(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other trainings out; the operating system lets go of the lock even if we are killed. What fails before
        it has put anything into the folder leaves no folder behind, unless it was there before."""
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        with self._lock():
            # Not in the lock itself, which some versions of filelock empty when they try it.
            with suppress(OSError):
                (self.path / OWNER).write_text(str(os.getpid()), encoding="ascii")
            ended = False
            try:
                yield
                ended = True
            finally:
                if not ended:
                    self._leave_nothing(made)

    def _lock(self) -> BaseFileLock:
        """The lock of the folder, acquired."""
        while True:
            lock = FileLock(self.path / LOCK, timeout=0, thread_local=False)
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                lock.acquire()
            except (Timeout, FileNotFoundError):
                if (self.path / LOCK).exists():
                    raise UsageError(
                        f"{self.path}: process {self._owner()} trains here; wait for it or choose another --out"
                    ) from None
            except OSError as error:
                raise UsageError(f"{self.path}: cannot be written: {error.strerror}; choose another --out") from None
            else:
                if (self.path / LOCK).exists():
                    return lock
                lock.release()
            # Another training that failed has just deleted the file: a lock on it would keep nobody out.

    def _owner(self) -> str:
        try:
            return (self.path / OWNER).read_text(encoding="ascii").strip() or "unknown"
        except (OSError, UnicodeDecodeError):
            return "unknown"

    def _leave_nothing(self, made: Sequence[Path]) -> None:
        """Deletes the lock and these folders, innermost first, if they hold nothing else."""
        with suppress(OSError):  # something is there
            if self.cache.is_dir():
                self.cache.rmdir()
            if set(os.listdir(self.path)) <= {LOCK, OWNER}:
                (self.path / OWNER).unlink()
                (self.path / LOCK).unlink()
            for path in made:
                path.rmdir()

    def sweep(self) -> None:
        """Deletes what a killed run left unfinished, and nothing else: file managers and network file systems have
        hidden files of their own there."""
        if self.checkpoints.is_dir():
            for name in filter(LEFT_OVER.fullmatch, os.listdir(self.checkpoints)):
                shutil.rmtree(self.checkpoints / name)

    def remove(self, name: str) -> None:
        """Deletes a checkpoint; its name goes first, so that no reader meets half of one."""
        going = self.checkpoints / f".going-{name}"
        os.rename(self.checkpoints / name, going)
        shutil.rmtree(going)

    def _pointer(self, name: str) -> str | None:
        if not self.path.is_dir():
            raise ModelError(f"{self.path}: no such folder; train a model with `regard train RECIPE --out {self.path}`")
        try:
            return (self.path / name).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise ModelError(f"{self.path / name}: not a text file; {self.advice()}") from None
        except OSError as error:
            raise ModelError(f"{self.path / name}: cannot be read: {error.strerror}; {self.advice()}") from None

    def advice(self) -> str:
        """What to do about a damaged folder."""
        command = f"regard train {self.recipe} --out {self.path} --resume"
        if self.names():
            return f"restore it from a copy, or let `{command}` go on from the last intact checkpoint"
        if os.path.lexists(self.path / "current"):
            return f"no checkpoint is left in {self.checkpoints}; {self.last_resort()}"
        return f"restore it from a copy, or let `{command}` begin, as no checkpoint has been saved here"

    def last_resort(self) -> str:
        """What to do if no checkpoint is intact, so that nothing can go on."""
        return f"restore it from a copy, or train anew in another folder: `regard train {self.recipe} --out FOLDER`"
