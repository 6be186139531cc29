"""What `train` yields: plain values, in the order in which things happened."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Reason = Literal["steps", "epochs", "minutes", "patience", "target", "interrupted"]


@dataclass(frozen=True)
class Started:
    """The model is ready, new or as it was left."""

    step: int
    """Steps already done; 0 for a new run."""
    parameters: int
    device: str
    processes: int
    message: str
    """What the run begins with, in words."""


@dataclass(frozen=True)
class Step:
    """A step was done. On an accelerator its numbers are read late, so steps come in bursts."""

    step: int
    loss: float
    """Mean over the step's targets; not finite if the step was skipped."""
    norm: float
    """Norm of the gradient before clipping."""
    rate: float
    count: int
    """Targets of all micro-batches and processes."""
    epoch: float
    """Passes over the training text, the one in progress by its share."""
    seconds: float
    """Time trained so far, earlier sittings included."""
    skipped: bool
    """Loss or gradient were not finite, and the weights stayed as they were."""
    aside: float = 0.0
    """How much of that time this sitting has spent on validating and saving."""


@dataclass(frozen=True)
class Validated:
    """The model (or its average, if averaging is on) was judged on the development text."""

    step: int
    metrics: Mapping[str, float]
    improved: bool
    """Whether it is the best so far by the recipe's metric."""
    seconds: float


@dataclass(frozen=True)
class Saved:
    """A checkpoint is safe on disk, or is being written there while training on an accelerator goes on."""

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
    """Where it was."""
    to: int
    """Where it goes on from."""
    rate_factor: float
    """What every rate of the schedule is now multiplied by."""
    batch: Path
    """The batch of the first of those steps, for a person to read."""


@dataclass(frozen=True)
class Ended:
    """Training is over, and everything is saved."""

    step: int
    reason: Reason
    message: str
    """Why, in words."""
    best: float | None
    """Best value of the recipe's metric; None if there was no validation."""
    skipped: int
    """Steps that were not finite, in all."""
    seconds: float
    signal: int | None = None
    """Number of the signal that asked to stop, if one did."""


@dataclass(frozen=True)
class Noted:
    """Something about how steps are executed that a person should know."""

    step: int
    message: str


Event = Started | Step | Validated | Saved | Averaged | WentBack | Noted | Ended
