"""The events that `train` yields, in chronological order."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.display import html_table

Reason = Literal["steps", "epochs", "minutes", "patience", "target", "interrupted"]


@dataclass(frozen=True)
class Prepared:
    """A message about the preparation of the data, before the model is ready."""

    message: str


@dataclass(frozen=True)
class Started:
    """The model is ready, new or restored."""

    step: int
    """Steps already done; 0 for a new run."""
    parameters: int
    device: str
    processes: int
    message: str
    """What the run starts from, for the user."""


@dataclass(frozen=True)
class Step:
    """A step was done. On an accelerator results are read late, so steps come in bursts."""

    step: int
    loss: float
    """Mean over the step's targets; not finite if the step was skipped."""
    norm: float
    """Norm of the gradient before clipping."""
    rate: float
    count: int
    """Targets of all micro-batches and processes."""
    epoch: float
    """Passes over the training text, including the fraction of the current one."""
    seconds: float
    """Time trained so far, including before a resume."""
    skipped: bool
    """Loss or gradient were not finite, and the weights were not changed."""
    aside: float = 0.0
    """Part of that time, since the last resume, that was spent on validating and saving."""


@dataclass(frozen=True)
class Validated:
    """The model (or its average, if averaging is on) was evaluated on the development text."""

    step: int
    metrics: Mapping[str, float]
    improved: bool
    """Whether it is the best so far by the recipe's metric."""
    seconds: float


@dataclass(frozen=True)
class Saved:
    """A checkpoint is on disk or, with an accelerator, being written in the background."""

    step: int
    path: Path


@dataclass(frozen=True)
class Averaged:
    """The last checkpoints were averaged; the average is the final model, unless it is worse than the best of them."""

    step: int
    checkpoints: int
    metrics: Mapping[str, float]
    path: Path
    """Where it was saved; it is removed if it was not chosen."""
    chosen: bool = True


@dataclass(frozen=True)
class WentBack:
    """Steps stayed non-finite: training went back to an earlier checkpoint with a smaller rate."""

    step: int
    """Step before the rollback."""
    to: int
    """Step of the checkpoint."""
    rate_factor: float
    """Factor of all rates of the schedule from now on."""
    batch: Path
    """File with the batch of the first non-finite step, for inspection."""


@dataclass(frozen=True)
class Ended:
    """Training is over, and everything is saved."""

    step: int
    reason: Reason
    message: str
    """The reason as text."""
    best: float | None
    """Best value of the recipe's metric; None if there was no validation."""
    skipped: int
    """Total number of non-finite steps."""
    seconds: float
    signal: int | None = None
    """Number of the signal that asked to stop, if one did."""

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"steps": f"{self.step:,}", "time": f"{self.seconds:.1f} s"}
        facts |= {} if self.best is None else {"best": f"{self.best:.4g}"}
        facts |= {"skipped steps": self.skipped} if self.skipped else {}
        return html_table(facts.items(), title=self.message)


@dataclass(frozen=True)
class Noted:
    """A message for the user about how steps are executed."""

    step: int
    message: str


Event = Prepared | Started | Step | Validated | Saved | Averaged | WentBack | Noted | Ended
