"""Checkpoints: written to a temporary folder, renamed when complete, verified by checksum. Loading runs no code."""

import json
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256

from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from regard.checkpoint.folder import AVERAGE, CARRY, CHECKSUMS, MODEL, OPTIMIZER, PROGRESS, ModelFolder
from regard.checkpoint.progress import Progress
from regard.disk import parse_json, publish_folder, reason, write_file
from regard.errors import ModelError, TrainingError

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """Everything needed to resume training."""

    weights: Tensors
    optimizer: Tensors
    """Optimizer state, by `parameter/entry`."""
    average: Tensors | None
    """Moving average of the weights, if enabled."""
    carry: Tensors | None
    """State carried over to the next batch, by `rank/entry`, if the task has any."""
    progress: Progress

    @property
    def used(self) -> str:
        """The file of the weights that are validated and used."""
        return MODEL if self.average is None else AVERAGE

    def copy(self) -> "Checkpoint":
        """A copy in host memory, unaffected by further training."""
        return Checkpoint(
            weights=_copied(self.weights),
            optimizer=_copied(self.optimizer),
            average=self.average and _copied(self.average),
            carry=self.carry and _copied(self.carry),
            progress=deepcopy(self.progress),
        )


def save_checkpoint(folder: ModelFolder, checkpoint: Checkpoint) -> str:
    """Writes a checkpoint and returns its name; leaves `current` and `chosen` unchanged."""
    tensors = {
        MODEL: checkpoint.weights,
        OPTIMIZER: checkpoint.optimizer,
        AVERAGE: checkpoint.average,
        CARRY: checkpoint.carry,
    }
    files = {file: _to_bytes(named) for file, named in tensors.items() if named is not None}
    return _write(folder, "step", checkpoint.progress.step, files | {PROGRESS: checkpoint.progress.to_json()})


def save_average(folder: ModelFolder, weights: Tensors, step: int) -> str:
    """Writes the average of several checkpoints (weights only) and returns its name."""
    return _write(folder, "average", step, {MODEL: _to_bytes(weights)})


def load_checkpoint(folder: ModelFolder, name: str) -> Checkpoint:
    """Loads a checkpoint and verifies every checksum."""
    files = _checksums(folder, name)
    return Checkpoint(
        weights=read_tensors(folder, name, MODEL),
        optimizer=read_tensors(folder, name, OPTIMIZER),
        average=read_tensors(folder, name, AVERAGE) if AVERAGE in files else None,
        carry=read_tensors(folder, name, CARRY) if CARRY in files else None,
        progress=_read_progress(folder, name),
    )


def find_checkpoint(folder: ModelFolder, *, good: bool = False) -> tuple[str | None, list[str]]:
    """The name of the checkpoint to resume from, and an error message for each damaged one that was skipped.

    It is the current checkpoint or, if that is damaged, the newest intact one before it. With `good`, checkpoints saved
    during a streak of non-finite steps are skipped too, silently.
    """
    names, complaints = folder.names(), []
    try:
        current = folder.current()
    except ModelError as error:
        current, complaints = None, [str(error)]
    if current in names:
        names = names[: names.index(current) + 1]
    elif current is not None:
        complaints.append(f"{folder.checkpoints / current}: missing, though it is the current checkpoint")
    for name in reversed(names):
        try:
            for file in _checksums(folder, name):
                _read(folder, name, file)
            if not good or _read_progress(folder, name).streak == 0:
                return name, complaints
        except ModelError as error:
            complaints.append(str(error))
    return None, complaints


def prune(folder: ModelFolder, keep: int, needed: Iterable[str]) -> None:
    """Deletes all checkpoints but the chosen one, the newest `keep` others, the current one, and those in `needed`."""
    chosen = folder.chosen()
    best = chosen and chosen[0]
    others = [name for name in folder.names() if name != best]
    stay = {best, *others[-keep:], *needed, folder.current()}
    for name in folder.names() + folder.names("average"):
        if name not in stay:
            folder.remove(name)


def read_tensors(folder: ModelFolder, name: str, file: str) -> Tensors:
    """Loads the tensors of one checkpoint file to the CPU after verifying its checksum."""
    try:
        return tensors_from_bytes(_read(folder, name, file))
    except SafetensorError as error:
        raise ModelError(f"{folder.checkpoints / name / file}: not tensors ({error}); {folder.advice()}") from None


def _write(folder: ModelFolder, kind: str, step: int, files: dict[str, bytes]) -> str:
    """If the disk is full, only this checkpoint is lost, and the error says so."""
    name = folder.free_name(kind, step)
    unfinished = folder.checkpoints / f".unfinished-{name}"
    try:
        folder.sweep()
        unfinished.mkdir(parents=True)
        for file, content in files.items():
            write_file(unfinished / file, content)
        sums = {file: sha256(content).hexdigest() for file, content in files.items()}
        write_file(unfinished / CHECKSUMS, json.dumps(sums, indent=2).encode())
        publish_folder(unfinished, folder.checkpoints / name)
    except OSError as error:
        raise cannot_write(folder, f"checkpoint {name}", error) from error
    return name


def cannot_write(folder: ModelFolder, what: str, error: OSError) -> TrainingError:
    """The error for a failed write, such as on a full disk."""
    intact = "Earlier checkpoints are intact; make" if folder.names() else "Make"
    return TrainingError(
        f"{folder.path}: {what} could not be written: {reason(error)}. "
        f"{intact} room on this disk, then continue with --resume"
    )


def _copied(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}


def _to_bytes(tensors: Tensors) -> bytes:
    return tensors_to_bytes({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def _read_progress(folder: ModelFolder, name: str) -> Progress:
    try:
        return Progress.from_json(_read(folder, name, PROGRESS))
    except ValueError as error:
        raise ModelError(f"{folder.checkpoints / name / PROGRESS}: {error}; {folder.advice()}") from None


def _checksums(folder: ModelFolder, name: str) -> dict[str, str]:
    path = folder.checkpoints / name / CHECKSUMS
    try:
        sums = parse_json(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; {folder.advice()}") from None
    except ValueError:
        raise ModelError(f"{path}: damaged: it is not JSON; {folder.advice()}") from None
    if not isinstance(sums, dict) or not all(isinstance(value, str) for value in sums.values()):
        raise ModelError(f"{path}: damaged: it is not a table of checksums; {folder.advice()}")
    return sums


def _read(folder: ModelFolder, name: str, file: str) -> bytes:
    path = folder.checkpoints / name / file
    wanted = _checksums(folder, name).get(file)
    if wanted is None:
        raise ModelError(f"{path}: not a file of this checkpoint; {folder.advice()}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; {folder.advice()}") from None
    if sha256(content).hexdigest() != wanted:
        raise ModelError(f"{path}: damaged: its SHA-256 is not the one in {CHECKSUMS}; {folder.advice()}")
    return content
