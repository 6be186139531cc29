"""Steps captured as CUDA graphs.

A small model is bound by the time it takes to launch its kernels. A graph holds all launches of a step and is replayed
as one. It reads and writes memory at fixed addresses and is made for one shape. So a step is captured for each shape
(`train.shapes` and `train.pack` keep them few), inputs are copied to the buffers of the capture, and the gradient of a
micro-batch and the update of the weights are separate graphs. They run the kernels of the eager step with the same
dropout masks (torch advances the generator of a replayed graph as in eager mode), so both give the same bits; that
holds for compiled parts of a model as well. Hence the first step of every shape runs eagerly and serves as the warm-up:
it allocates what is made on first use (optimizer state, tables, library handles, compiled kernels).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.device import in_transit, synchronize
from regard.graphs import EAGER, Work
from regard.models.language import Carry
from regard.tasks.task import Batch, Task
from regard.train.averaging import Average
from regard.train.memory import tensors_of
from regard.train.optimizers import Optimizer
from regard.train.ranks import Ranks
from regard.train.runtime import StepRunner, first_line

Shape = tuple[tuple[int, ...], ...]
FEW = 4
"""Up to this many shapes, graphs may be captured again."""


@dataclass(frozen=True)
class Capture:
    """The graph of a micro-batch, for one shape."""

    inputs: tuple[Tensor, ...]
    """Buffers of the batch."""
    carry: Carry | None
    """Buffers of the carry, input and output."""
    replay: Work


class CapturedRunner(StepRunner):
    """Replays steps of shapes that it has seen before, and executes all others eagerly.

    `capture` makes a graph of some work without running it, and returns the function that replays it.
    """

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        optimizer: Optimizer,
        average: Average | None,
        device: torch.device,
        ranks: Ranks,
        capture: Callable[[Work], Work],
    ) -> None:
        super().__init__(task, model, optimizer, average, device, ranks)
        self._capture = capture
        self._seen: set[Shape] = set()
        self._captures: dict[Shape, Capture] = {}
        self._updated = False
        self._update: Work | None = None
        self._seconds = 0.0
        self._stopped = False

    def learn(self, batch: Batch, carry: Carry | None) -> Carry | None:
        tensors = tensors_of(batch)
        capture = self._capture_of(batch, tensors, carry)
        if capture is None:
            return super().learn(batch, carry)
        for place, tensor in zip(capture.inputs, tensors, strict=True):
            place.copy_(in_transit(tensor, self.device), non_blocking=True)
        for name, place in (capture.carry or {}).items():
            assert carry is not None
            place.copy_(carry[name])
        capture.replay()
        return capture.carry

    def update(self) -> None:
        if self._update is None and self._updated and self.skips and not self._stopped:
            self._update = self._captured(super().update)
        if self._update is None:
            super().update()
            self._updated = True
        else:
            self._update()

    def recover(self) -> None:
        # Graphs hold memory, and those captured before the fallback would never be replayed.
        self._free_graphs()
        self._seen.clear()

    def restart(self) -> None:
        # The captured update writes to the buffers of the old state.
        self._update, self._updated = None, False

    def sum_up(self) -> str:
        count = len(self._captures)
        shapes = "1 shape" if count == 1 else f"{count} shapes"
        return f"{shapes} of batches captured as CUDA graphs, in {self._seconds:.1f} s" if count else ""

    def _capture_of(self, batch: Batch, tensors: tuple[Tensor, ...], carry: Carry | None) -> Capture | None:
        """The graph for a micro-batch, captured if necessary; None if it is to be executed eagerly."""
        if self._stopped:
            return None
        if self.watched:
            self._say(f"while a tap is watched, {EAGER}")
            return None
        shape = tuple(tuple(tensor.shape) for tensor in (*tensors, *(carry or {}).values()))
        if carry is None and self._carries:
            return None  # the start of a run or a rollback: too rare to be captured
        if shape not in self._seen:
            self._seen.add(shape)
            self._make_room()
        elif shape not in self._captures:
            inputs = batch.map(lambda tensor: tensor.to(self.device, copy=True))
            places = carry and {name: torch.empty_like(value) for name, value in carry.items()}
            replay = self._captured(lambda: self._learn_into(inputs, places))
            if replay is not None:
                self._captures[shape] = Capture(tensors_of(inputs), places, replay)
        return self._captures.get(shape)

    def _make_room(self) -> None:
        """An eager step needs as much memory as the graphs hold. If shapes are few, as with packed batches, the graphs
        are freed for it and captured again."""
        if self.settings.mostly_one_shape and self._captures and len(self._seen) <= FEW:
            self._free_graphs()

    def _free_graphs(self) -> None:
        """Frees all graphs: torch keeps their memory as long as one is left."""
        synchronize(self.device)  # some may still be running
        self._captures.clear()
        self._update = None
        super().recover()

    def _learn_into(self, batch: Batch, places: Carry | None) -> None:
        """The captured work: the gradient of a micro-batch, and the carry copied back into its buffers."""
        after = StepRunner.learn(self, batch, places)
        for name, value in (after or {}).items():
            if places is None or name not in places or places[name].shape != value.shape:
                raise RuntimeError("the state carried over to the next batch changes its names or shapes")
            places[name].copy_(value)

    def _captured(self, work: Work) -> Work | None:
        """The work as a graph; None, and no further attempt, if that fails."""
        begun = time.monotonic()
        try:
            with _capturable(self.optimizer):
                return self._capture(work)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self._stop(first_line(error))
            return None
        finally:
            self._seconds += time.monotonic() - begun

    def _stop(self, reason: str) -> None:
        self._stopped = True
        self._captures.clear()
        self._update = None
        self._say(f"{EAGER}: {reason}")


@contextmanager
def _capturable(optimizer: Optimizer) -> Iterator[None]:
    """Marks an optimizer as capturable. Only during the capture, because torch warns if such an optimizer also runs
    eagerly; the fused kernels do the same in both cases."""
    groups = [group for group in optimizer.param_groups if "capturable" in group]
    for group in groups:
        group["capturable"] = True
    try:
        yield
    finally:
        for group in groups:
            group["capturable"] = False
