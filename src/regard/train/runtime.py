"""Eager execution of a step on any device, in any precision, over any number of processes; `captured.py` has another
runner with the same interface."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.checkpoint import names_in
from regard.device import captures, prefers_bfloat16, release_memory, sent
from regard.errors import ModelError
from regard.models.language import Carry
from regard.recipe import Starting, Training
from regard.tap import Tap
from regard.tasks.task import Batch, Task
from regard.train.averaging import Average
from regard.train.compiled import PLAIN, CompiledParts
from regard.train.gradients import Gradients
from regard.train.memory import Pieces
from regard.train.optimizers import Optimizer, obeys_found_inf, rates_of, set_rates
from regard.train.ranks import Ranks


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seeds torch's generators as a function of the step, so that there is no generator state to save. Ranks differ, or
    their rows would share dropout masks."""
    digest = hashlib.blake2b(f"{seed} {step} {rank}".encode(), digest_size=8).digest()
    number = int.from_bytes(digest, "big") >> 1
    # `torch.manual_seed` without unused kinds of devices, which take half a millisecond.
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(number)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(number)


@dataclass(frozen=True)
class Plan:
    """The inputs of a step besides its batches."""

    step: int
    count: int
    """Targets of all micro-batches and processes: the divisor of the gradient."""
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
        average: Average | None,
        device: torch.device,
        ranks: Ranks,
    ) -> None:
        self.task, self.model, self.optimizer, self.average = task, model, optimizer, average
        self.device, self.ranks, self.settings = device, ranks, task.recipe.train
        self.news: list[str] = []
        """Messages for the user about how steps are executed; the reader empties the list."""
        self.parts: CompiledParts | None = None
        """Compiled parts of the model, if any."""
        self.pieces = Pieces()
        self._carries = False
        self._taps = [module for module in model.modules() if isinstance(module, Tap)]
        self._said: set[str] = set()
        trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        self.gradients = Gradients(trained.values(), extras=3)
        self.late = _trained_late(trained, self.settings.start)
        """Parameters that are frozen in the first steps."""
        self._is_frozen = False
        # Inputs and outcome of a step have fixed addresses, which a captured step needs.
        self.known = self.gradients.everything.new_zeros(3 + len(optimizer.param_groups))
        self.outcome = self.gradients.everything.new_zeros(5)
        self.bad = torch.zeros((), device=device)
        self.skips = obeys_found_inf(optimizer)
        """Whether the optimizer skips a step by itself if `found_inf` is 1; otherwise the host waits and decides."""
        if self.skips:
            optimizer.found_inf = self.bad  # type: ignore[attr-defined]

    def run(self, micro_batches: Sequence[Batch], plan: Plan, carry: Carry | None) -> tuple[Tensor, Carry | None]:
        """Runs one step and returns, still on the device, its outcome (loss, interruptions, seconds, norm, bad), and
        the carry. Nothing here waits for the device, if the optimizer's kernels skip bad steps by themselves."""
        self._freeze(plan.step)
        if self.ranks.world > 1:
            micro_batches = [batch.rows(self.ranks.rank, self.ranks.world) for batch in micro_batches]
        carry = self._gather(micro_batches, plan, carry)
        self.ranks.sum(self.gradients.everything)
        self.update()
        if self.average is not None:
            self.average.update(plan.step)
        if carry is not None:
            carry = {name: torch.where(self.bad > 0, torch.zeros_like(value), value) for name, value in carry.items()}
        return self.outcome.clone(), carry

    def _freeze(self, step: int) -> None:
        """Freezes parameters or thaws them, if that is due by the step."""
        is_frozen = bool(self.late) and step <= self.settings.start.frozen_steps
        if is_frozen == self._is_frozen:
            return
        if self._is_frozen:
            parts = self.settings.start.parts
            self.news.append(f"{', '.join(parts)} {'begin' if len(parts) > 1 else 'begins'} to learn")
        self._is_frozen = is_frozen
        self.gradients.freeze(self.late if is_frozen else ())
        # Captured work has the gradients and the updates of other parameters.
        self.recover()
        self.restart()

    def _gather(self, batches: Sequence[Batch], plan: Plan, carry: Carry | None) -> Carry | None:
        """Computes the gradient of this process's batches; retries after a failure that can be worked around: a batch
        too large for the device, or an error of the compiler."""
        while True:
            try:
                return self._attempt(batches, plan, carry)
            except torch.OutOfMemoryError:
                # A carry belongs to all rows of a batch, so they cannot be split.
                if carry is not None or self._carries or not self.pieces.lower(self._trying):
                    raise
                self._say(
                    f"the device's memory does not hold a micro-batch with {self._trying.count:,} targets at once"
                    f"{self._sizes()}; from step {plan.step} on such batches are split: the gradient is the "
                    "same, but it takes longer"
                )
            except RuntimeError as error:
                if self.parts is None:
                    raise
                self.parts = None
                self._say(f"{PLAIN}: {first_line(error)}")
            # Outside the except block, where the exception no longer holds memory of the failed attempt.
            self.recover()

    def _attempt(self, batches: Sequence[Batch], plan: Plan, carry: Carry | None) -> Carry | None:
        seed_step(self.task.recipe.seed, plan.step, self.ranks.rank)
        self.gradients.clear()
        self._tell(plan)
        for batch in batches:
            pieces = self.pieces.of(batch)
            for piece in pieces:
                self._trying = piece
                carry = self.learn(piece, carry)
                # Before the first step it is unknown whether there will be a carry.
                self._carries = self._carries or carry is not None
                if self._carries and len(pieces) > 1:
                    raise torch.OutOfMemoryError("a batch whose state is carried over cannot be split")
        return carry

    def _sizes(self) -> str:
        sizes = ", ".join(f"{setting} = {size}" for setting, size in self.task.sizes(decode=False).items())
        return f" ({sizes})" if sizes else ""

    def recover(self) -> None:
        """Frees memory for another attempt."""
        release_memory(self.device)

    def learn(self, batch: Batch, carry: Carry | None) -> Carry | None:
        """Accumulates the loss and the gradient of a micro-batch."""
        parts = self.parts if self.parts is not None and self.parts.fit(batch) and not self.watched else None
        with nullcontext() if parts is None else parts.used():
            with precision(self.settings, self.device):
                summed, carry = self.task.objective(self.model, batch.map(self.sent), carry)
            scaled = summed / self.known[0]
            self.gradients.add(torch.autograd.grad(scaled, self.gradients.parameters, allow_unused=True))
        self.gradients.extras[0] += scaled.detach()
        return carry

    @property
    def watched(self) -> bool:
        """Whether a tap of the model is in use."""
        return any(tap.watched for tap in self._taps)

    def update(self) -> None:
        """Updates the weights, unless the loss or the gradient is not finite; the device decides if it can."""
        norm = self.gradients.norm()
        self.bad.copy_(~(norm.isfinite() & self.gradients.extras[0].isfinite()))
        if self.settings.clip:
            self.gradients.flat.mul_((self.settings.clip / (norm + 1e-6)).clamp(max=1.0))
        if self.skips or not self.bad.item():
            self.optimizer.step()
        self.outcome.copy_(torch.stack((*self.gradients.extras, norm, self.bad.to(norm.dtype))))

    def restart(self) -> None:
        """Must be called after the optimizer's state was replaced."""

    def sum_up(self) -> str:
        """A line on how steps have been executed so far; may be empty."""
        return ""

    def sent(self, tensor: Tensor) -> Tensor:
        """Copies a tensor to the device, asynchronously where that is safe."""
        return sent(tensor, self.device)

    def _say(self, line: str) -> None:
        """Adds a message, once."""
        if line not in self._said:
            self._said.add(line)
            self.news.append(line)

    def _tell(self, plan: Plan) -> None:
        """Writes the inputs of a step into its buffers."""
        # Only one process may give the time, since the values of all are summed.
        seconds = plan.seconds if self.ranks.leads else 0.0
        rates = rates_of(self.optimizer, plan.rate)
        numbers = torch.tensor([max(plan.count, 1), plan.interrupted, seconds, *rates], dtype=self.known.dtype)
        self.known.copy_(self.sent(numbers))
        self.gradients.extras[1:].copy_(self.known[1:3])
        # A captured update reads the rate from the device; the CPU's kernels and plain optimizers need a number.
        set_rates(self.optimizer, self.known[3:] if captures(self.device) and self.skips else rates)


def _trained_late(trained: Mapping[str, nn.Parameter], start: Starting) -> frozenset[nn.Parameter]:
    """The parameters of the parts that a run begins with, if they are frozen at first."""
    if not start.frozen_steps:
        return frozenset()
    late = frozenset(trained[name] for part, _ in start.pairs for name in names_in(trained, part))
    if len(late) == len(trained):
        raise ModelError(
            f"train.start.frozen_steps = {start.frozen_steps}: {', '.join(start.parts)} are all that is "
            "trained, so that nothing would learn in these steps; leave out a part, or frozen_steps"
        )
    return late


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def precision(settings: Training, device: torch.device) -> AbstractContextManager[None]:
    """Matrix products in the recipe's precision; weights and sums stay in float32."""
    mixed = settings.precision == "bfloat16" or (settings.precision == "auto" and prefers_bfloat16(device))
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=mixed)
