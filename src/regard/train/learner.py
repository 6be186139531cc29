"""The model, its optimizer and its average, captured to and restored from checkpoints together."""

from pathlib import Path

import torch
from torch import Tensor, nn

from regard.checkpoint import Checkpoint, Progress, load_weights, put_part, put_weights, weights_of
from regard.device import is_host
from regard.errors import UsageError
from regard.models.language import Carry
from regard.recipe import Starting
from regard.tasks.task import Task
from regard.train.averaging import build_average
from regard.train.malloc import keep_freed_memory
from regard.train.optimizers import build_optimizer, optimizer_state, put_optimizer_state
from regard.train.ranks import Ranks
from regard.train.runners import build_runner


class Learner:
    """A new model, initialized from the recipe's seed, with its optimizer, average and runner."""

    def __init__(self, task: Task, device: torch.device, ranks: Ranks) -> None:
        settings = task.recipe.train
        if is_host(device):
            keep_freed_memory()
        torch.manual_seed(task.recipe.seed)
        self.model = task.build_model().to(device).train()
        self.optimizer = build_optimizer(self.model, settings.optimizer)
        self.average = build_average(self.model, settings.average)
        self.runner = build_runner(task, self.model, self.optimizer, self.average, device, ranks)
        self.carry: Carry | None = None
        self.ranks = ranks

    @property
    def used(self) -> nn.Module:
        """The model that is validated and used: the average if there is one."""
        return self.average.model if self.average and self.average.is_begun else self.model

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    def start_from(self, folder: Path) -> None:
        """Copies the weights of another model."""
        weights = load_weights(folder)
        for model in {self.model, self.used}:
            put_weights(model, weights, folder)

    def start_from_parts(self, start: Starting) -> None:
        """Copies parts of another model."""
        weights = load_weights(start.model)
        for model in {self.model, self.used}:
            for part, other in start.pairs:
                put_part(model, part, weights, other, start.model)

    def start_new(self, task: Task) -> list[str]:
        """Initializes a new model as the task defines; returns lines that describe it."""
        said = task.start(self.model)
        if self.used is not self.model:
            put_weights(self.used, weights_of(self.model), Path())
        return said

    def capture(self, progress: Progress) -> Checkpoint:
        """A checkpoint; every process must call this, since each has its own carry."""
        carries = self.ranks.gather(self.carry and {name: value.cpu() for name, value in self.carry.items()})
        named = {f"{rank}/{name}": value for rank, carry in enumerate(carries) for name, value in (carry or {}).items()}
        progress.processes = self.ranks.world
        return Checkpoint(
            weights=weights_of(self.model),
            optimizer=optimizer_state(self.model, self.optimizer),
            average=None if self.used is self.model else weights_of(self.used),
            carry=named or None,
            progress=progress,
        )

    def restore(self, checkpoint: Checkpoint, where: Path) -> None:
        put_weights(self.model, checkpoint.weights, where)
        put_optimizer_state(self.model, self.optimizer, checkpoint.optimizer, str(where), self.runner.late)
        self.runner.restart()
        if self.average:
            self.average.since = checkpoint.progress.averaged_since
            put_weights(self.average.model, checkpoint.average or checkpoint.weights, where)
        self.carry = self._my_carry(checkpoint, where)

    def _my_carry(self, checkpoint: Checkpoint, where: Path) -> dict[str, Tensor] | None:
        if checkpoint.carry is None:
            return None
        if checkpoint.progress.processes != self.ranks.world:
            raise UsageError(
                f"{where}: was trained by {checkpoint.progress.processes} processes, each of which carries state of "
                f"its own, but there are {self.ranks.world} now; resume with {checkpoint.progress.processes}"
            )
        mine, device = f"{self.ranks.rank}/", self.runner.device
        named = checkpoint.carry.items()
        return {name.removeprefix(mine): value.to(device) for name, value in named if name.startswith(mine)} or None
