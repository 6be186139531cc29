"""Schedules of the learning rate, as a share of its peak: pure functions of the progress."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from regard.checkpoint import Progress
from regard.recipe import Schedule, Training, names


@dataclass(frozen=True)
class Moment:
    """The inputs of a schedule."""

    step: int
    """The next step, from 1."""
    horizon: int = 0
    """The step at which a cosine schedule reaches its floor."""
    lowerings: int = 0
    """How often the plateau schedule has lowered the rate."""


def constant(schedule: Schedule, moment: Moment) -> float:
    return 1.0


def inverse_square_root(schedule: Schedule, moment: Moment) -> float:
    """Peaks at the end of the warm-up, then falls with the root of the step (Vaswani et al. 2017)."""
    peak = max(schedule.warmup, 1)
    return math.sqrt(peak / max(moment.step, peak))


def cosine(schedule: Schedule, moment: Moment) -> float:
    """Half a cosine wave from the end of the warm-up to the horizon (Loshchilov and Hutter 2017)."""
    done = (moment.step - schedule.warmup) / max(moment.horizon - schedule.warmup, 1)
    wave = (1 + math.cos(math.pi * min(max(done, 0.0), 1.0))) / 2
    return schedule.floor + (1 - schedule.floor) * wave


def plateau(schedule: Schedule, moment: Moment) -> float:
    """Lower by a factor each time validation stopped improving."""
    return max(schedule.factor**moment.lowerings, schedule.floor)


SCHEDULES: Mapping[str, Callable[[Schedule, Moment], float]] = names.SCHEDULES


def share_of_peak(schedule: Schedule, moment: Moment) -> float:
    """The schedule with its linear warm-up, which ends at step `warmup`."""
    rising = min(1.0, moment.step / schedule.warmup) if schedule.warmup else 1.0
    return rising * SCHEDULES[schedule.kind](schedule, moment)


def rate_of(settings: Training, progress: Progress) -> float:
    """The learning rate of step `progress.step`."""
    moment = Moment(progress.step, horizon(settings, progress.batches_in_pass), progress.lowerings)
    return settings.optimizer.rate * progress.rate_factor * share_of_peak(settings.schedule, moment)


def horizon(settings: Training, batches_in_pass: int) -> int:
    """The step at which a cosine schedule reaches its floor: the first of the recipe's limits in steps and epochs."""
    limits = [settings.steps] if settings.steps else []
    if settings.epochs:
        limits.append(math.ceil(batches_in_pass * settings.epochs / settings.accumulate))
    return min(limits, default=0)


def needs_count(settings: Training) -> bool:
    """Whether the schedule needs the number of batches in a pass."""
    return settings.schedule.kind == "cosine" and settings.epochs > 0


def count_pass(batches: Iterator[tuple[Any, Any]]) -> int:
    """Counts the batches of the first pass without training; saved in the progress, so that a resumed run has the same
    schedule. (With sampled subwords, other passes differ slightly.)"""
    return next(number for number, (_, position) in enumerate(batches, start=1) if position.epoch)
