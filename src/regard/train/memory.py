"""Handling a device that runs out of memory."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from regard.errors import TrainingError
from regard.tasks.task import Batch


@contextmanager
def enough_memory(step: int, sizes: Mapping[str, int]) -> Iterator[None]:
    """Turns an out-of-memory error into one that names the settings to lower (`Task.sizes`)."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        said = " or ".join(f"{setting} = {size}" for setting, size in sizes.items()) or "a batch"
        raise TrainingError(
            f"step {step}: the device's memory is full; {said} is too large for this model on this device. Lower "
            "it in a new run (and raise train.accumulate by as much, so that a step still sees as many tokens), or "
            "make the model smaller"
        ) from error


class Pieces:
    """Splits micro-batches that do not fit into memory in halves, by rows; their gradients have the same sum."""

    def __init__(self) -> None:
        self._most: int | None = None
        """Largest batch that is not split, in numbers; None as long as all batches have fitted."""

    def of(self, batch: Batch) -> list[Batch]:
        """The pieces of a batch, without those that have no targets."""
        if self._most is None or size_of(batch) <= self._most or not _divisible(batch):
            return [batch] if batch.count else []
        return [piece for half in (0, 1) for piece in self.of(batch.rows(half, 2))]

    def lower(self, batch: Batch) -> bool:
        """Records that a batch was too large; returns whether it can be split."""
        self._most = size_of(batch) - 1
        return _divisible(batch)


def size_of(batch: Batch) -> int:
    """Numbers in a batch, padding included."""
    return sum(tensor.numel() for tensor in tensors_of(batch))


def tensors_of(batch: Batch) -> tuple[Tensor, ...]:
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    batch.map(keep)
    return tuple(found)


def _divisible(batch: Batch) -> bool:
    return size_of(batch.rows(0, 2)) < size_of(batch)
