"""Summaries of steps: mean loss and throughput."""

import math
from dataclasses import dataclass

from regard.recipe import Training
from regard.train.events import Step


@dataclass(frozen=True)
class Summary:
    """A summary of the steps since the last one."""

    step: int
    epoch: float
    loss: float
    """Mean over the targets of all steps that were not skipped."""
    norm: float
    """Of the last step."""
    rate: float
    """Of the last step."""
    targets_per_second: float
    """Without the time of validating and saving."""
    skipped: int
    seconds: float


class Throughput:
    """Collects steps and summarizes them."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._before: float | None = None

    def add(self, step: Step) -> None:
        self._steps.append(step)

    @property
    def has_steps(self) -> bool:
        """Whether there is anything to summarize."""
        return bool(self._steps)

    def sum_up(self) -> Summary:
        """Summarizes the steps since the last call; there must be at least one."""
        steps, self._steps = self._steps, []
        last, before = steps[-1], self._before
        self._before = now = last.seconds - last.aside
        # The start time of the very first step is unknown, so it is left out.
        timed = steps if before is not None else steps[1:]
        seconds = now - (before if before is not None else steps[0].seconds - steps[0].aside)
        good = [step for step in steps if not step.skipped]
        targets = sum(step.count for step in good)
        return Summary(
            step=last.step,
            epoch=last.epoch,
            loss=sum(step.loss * step.count for step in good) / targets if targets else math.nan,
            norm=last.norm,
            rate=last.rate,
            targets_per_second=sum(step.count for step in timed) / seconds if seconds > 0 else 0.0,
            skipped=len(steps) - len(good),
            seconds=last.seconds,
        )


def share_done(settings: Training, step: int, epoch: float, seconds: float) -> float:
    """The share of the run that is done, by the first of its limits; 0 if only validation can end it."""
    limits = (settings.steps, step), (settings.epochs, epoch), (settings.minutes * 60, seconds)
    return min(1.0, max((done / limit for limit, done in limits if limit), default=0.0))
