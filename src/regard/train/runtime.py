"""How a step is executed: on which device, in which precision, over how many processes. The loop reads the same in
all cases; another way of executing a step (captured as a graph, compiled) is another class with the method `run`."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.recipe import Training
from regard.tasks.task import Batch, Task
from regard.train.averaging import MovingAverage
from regard.train.gradients import Gradients
from regard.train.optimizers import Optimizer, set_rate
from regard.train.ranks import Ranks

Carry = Mapping[str, Tensor] | None
"""State that goes on from one batch into the next, by name, so that it can be saved; None for most tasks."""


def seed_step(seed: int, step: int, rank: int) -> None:
    """Sets torch's generators as a function of where the run stands, so that there is no state to save and none to
    lose. Ranks differ, or their rows would share dropout masks."""
    digest = hashlib.blake2b(f"{seed} {step} {rank}".encode(), digest_size=8).digest()
    torch.manual_seed(int.from_bytes(digest, "big") >> 1)


@dataclass(frozen=True)
class Plan:
    """What is known about a step before it is done."""

    step: int
    count: int
    """Targets of all micro-batches, over all processes: what the gradient is divided by."""
    rate: float
    interrupted: bool
    """Whether this process was asked to stop."""
    seconds: float
    """Time trained so far, by this process's clock."""


class StepRunner:
    """Executes steps eagerly."""

    def __init__(
        self,
        task: Task,
        model: nn.Module,
        optimizer: Optimizer,
        average: MovingAverage | None,
        device: torch.device,
        ranks: Ranks,
    ) -> None:
        self.task, self.model, self.optimizer, self.average = task, model, optimizer, average
        self.device, self.ranks, self.settings = device, ranks, task.recipe.train
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.gradients = Gradients(trained, extras=3)
        self.bad = torch.zeros((), device=device)
        # Read by torch's fused kernels: where it is 1, neither weights nor optimizer state change.
        optimizer.found_inf = self.bad  # type: ignore[attr-defined]

    def run(self, micro_batches: Sequence[Batch], plan: Plan, carry: Carry) -> tuple[Tensor, Carry]:
        """Does one step and returns, still on the device, its outcome (loss, interruptions, seconds, norm, bad), and
        the carry. Nothing here waits for the device."""
        seed_step(self.task.recipe.seed, plan.step, self.ranks.rank)
        self.gradients.clear()
        loss, interruptions, seconds = self.gradients.extras
        for batch in micro_batches:
            share = batch.rows(self.ranks.rank, self.ranks.world) if self.ranks.world > 1 else batch
            if share.count:
                with precision(self.settings, self.device):
                    summed, carry = self.task.objective(self.model, share.to(self.device), carry)
                scaled = summed / max(plan.count, 1)
                scaled.backward()  # type: ignore[no-untyped-call]
                loss += scaled.detach()
        interruptions.fill_(plan.interrupted)
        # Only one process may say what time it is, since all that they say is added up.
        seconds.fill_(plan.seconds if self.ranks.leads else 0.0)
        self.ranks.sum(self.gradients.everything)
        norm = self._update(loss, plan)
        if carry is not None:
            carry = {name: torch.where(self.bad > 0, torch.zeros_like(value), value) for name, value in carry.items()}
        return torch.stack((*self.gradients.extras, norm, self.bad.to(norm.dtype))), carry

    def _update(self, loss: Tensor, plan: Plan) -> Tensor:
        """Changes the weights, unless the loss or the gradient is not finite; the device decides."""
        norm = self.gradients.norm()
        self.bad.copy_(~(norm.isfinite() & loss.isfinite()))
        if self.settings.clip:
            self.gradients.flat.mul_((self.settings.clip / (norm + 1e-6)).clamp(max=1.0))
        set_rate(self.optimizer, plan.rate)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(plan.step)
        return norm


def precision(settings: Training, device: torch.device) -> AbstractContextManager[None]:
    """Matrix products in the recipe's number format; weights and sums stay in float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16")
