"""A model on disk is a folder.

    recipe.toml                      the resolved recipe
    format.json                      format and version of Regard that wrote it (`regard.format_version`)
    …                                task files (translation: tokenizer.source.json, tokenizer.target.json; language:
                                     tokenizer.json; both: corpus.sha256, the digest of the training text)
    languages.json                   the languages of a translator's training text, by character n-grams
    alignment.json                   a translator's choice of attention for alignments (`regard align --choose`), if any
    metrics.jsonl                    one record per line
    tensorboard/                     the same as curves, if TensorBoard is installed
    cache/                           the tokenized training text; may be deleted and is then rebuilt
    .lock, .owner                    lock against concurrent training runs, and the process id of its holder
    checkpoints/step-00000100/       model.safetensors, optimizer.safetensors, average.safetensors (if averaging is on),
                                     carry.safetensors (if the task carries state over), progress.json, checksums.json
    checkpoints/average-00000500/    model.safetensors, checksums.json: the average of the last checkpoints
    current                          the checkpoint to resume from
    chosen                           the weights to use: the best by the metric, or the final average
    bad-batches/step-117.json        the input of a step whose loss was not finite

`current` and `chosen` are small text files, replaced atomically once the files they name are on disk.
Names in `checkpoints` that start with `.unfinished-` or `.going-` are temporary and may be deleted while no training
runs.
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

# The suffix distinguishes checkpoints of the same step, which a run that rolled back can reach twice.
CHECKPOINT = re.compile(r"(step|average)-(\d{8,})(?:\.(\d+))?")
LEFT_OVER = re.compile(rf"\.(unfinished|going)-{CHECKPOINT.pattern}")
CHOSEN_WEIGHTS = re.compile(r"((?:step|average)-\d{8,}(?:\.\d+)?)/(model|average)\.safetensors")


@dataclass(frozen=True)
class ModelFolder:
    """Paths of a model's files, its checkpoints and its lock."""

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
        """Whether a run has saved anything here; if not, there is nothing to lose."""
        return self.checkpoints.exists()

    @property
    def can_resume(self) -> bool:
        """Whether training here would resume a run whose recipe is known."""
        return self.is_begun and self.recipe.exists()

    def names(self, kind: str = "step") -> list[str]:
        """Names of the checkpoints (or, with kind `average`, of the averages) by step, oldest first."""
        if not self.checkpoints.is_dir():
            return []
        found = [match for match in map(CHECKPOINT.fullmatch, os.listdir(self.checkpoints)) if match]
        found.sort(key=lambda match: (int(match[2]), int(match[3] or 0)))
        return [match[0] for match in found if match[1] == kind]

    def free_name(self, kind: str, step: int) -> str:
        """An unused name for a new checkpoint: no checkpoint is ever overwritten."""
        name, suffix = f"{kind}-{step:08}", 0
        while (self.checkpoints / name).exists():
            suffix += 1
            name = f"{kind}-{step:08}.{suffix}"
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
        """Raises ModelError unless this is the folder of a model."""
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
        """The model's recipe with `key=value` changes; refuses a model that this version would read differently."""
        self.check_is_model()
        written = FormatVersion.read(self.path)
        written.check_readable(self.path)
        written.check_packages(self.path)
        return read_recipe(self.recipe, changes, kind=kind, saved=True)

    def write_recipe(self, recipe: AnyRecipe) -> None:
        """Writes the format version (of a new run), then the recipe, which marks a complete folder."""
        if not self.can_resume:
            replace_file(self.path / FILE, FormatVersion.now(packages_of(recipe)).to_json())
        replace_file(self.recipe, write_recipe(recipe).encode())

    def check_may_train(self, resume: bool) -> None:
        """Refuses to overwrite an existing model, or to resume one from a version whose results would differ; call it
        before long preparations."""
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: is a file, but a model is a folder; choose another --out")
        if self.is_begun and not resume:
            raise UsageError(
                f"{self.path}: there is a model here already; "
                "continue it with --resume, choose another --out, or delete the folder"
            )
        if self.is_begun and (self.recipe.exists() or (self.path / FILE).exists()):
            FormatVersion.read(self.path).check_resumable(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks out other training runs; the operating system releases the lock even if we are killed. A run that fails
        before writing anything removes the folders that it created."""
        created = [path for path in (self.path, *self.path.parents) if not path.exists()]
        with self._lock():
            # Not in the lock file itself, which some versions of filelock truncate when they try to acquire it.
            with suppress(OSError):
                (self.path / OWNER).write_text(str(os.getpid()), encoding="ascii")
            ended = False
            try:
                yield
                ended = True
            finally:
                if not ended:
                    self._remove_empty(created)

    def _lock(self) -> BaseFileLock:
        """Acquires the folder's lock."""
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
            # A failed run has just deleted the lock file, so this lock would lock no one out: try again.

    def _owner(self) -> str:
        try:
            return (self.path / OWNER).read_text(encoding="ascii").strip() or "unknown"
        except (OSError, UnicodeDecodeError):
            return "unknown"

    def _remove_empty(self, created: Sequence[Path]) -> None:
        """Deletes the lock and these folders, innermost first, if they hold nothing else."""
        with suppress(OSError):  # a folder is not empty
            if self.cache.is_dir():
                self.cache.rmdir()
            if set(os.listdir(self.path)) <= {LOCK, OWNER}:
                (self.path / OWNER).unlink()
                (self.path / LOCK).unlink()
            for path in created:
                path.rmdir()

    def sweep(self) -> None:
        """Deletes the temporary files of a killed run, and nothing else: file managers and network file systems have
        hidden files of their own."""
        if self.checkpoints.is_dir():
            for name in filter(LEFT_OVER.fullmatch, os.listdir(self.checkpoints)):
                shutil.rmtree(self.checkpoints / name)

    def remove(self, name: str) -> None:
        """Deletes a checkpoint; renames it first, so that no reader finds half of one."""
        hidden = self.checkpoints / f".going-{name}"
        os.rename(self.checkpoints / name, hidden)
        shutil.rmtree(hidden)

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
        """Advice for a damaged folder."""
        command = f"regard train {self.recipe} --out {self.path} --resume"
        if self.names():
            return f"restore it from a copy, or let `{command}` continue from the last intact checkpoint"
        if os.path.lexists(self.path / "current"):
            return f"no checkpoint is left in {self.checkpoints}; {self.last_resort()}"
        return f"restore it from a copy, or start with `{command}`, as no checkpoint has been saved here"

    def last_resort(self) -> str:
        """Advice if no checkpoint is intact."""
        return f"restore it from a copy, or train again in another folder: `regard train {self.recipe} --out FOLDER`"
