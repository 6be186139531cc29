"""Decisions by validation: which checkpoint is best, whether the rate is lowered, and when training ends."""

import math
from collections.abc import Mapping

from regard.checkpoint import Best, Progress
from regard.errors import RecipeError, one_of
from regard.recipe import TASKS, Recipe, Training
from regard.train.events import Averaged, Reason


def better(recipe: Recipe, value: float, than: float) -> bool:
    """Whether a value of the recipe's metric is better than another."""
    more_is_better = TASKS[recipe.task].metrics[recipe.train.validation.metric].more_is_better
    return value > than if more_is_better else value < than


def judge(recipe: Recipe, progress: Progress, metrics: Mapping[str, float]) -> bool:
    """Records a validation in `progress`; True if it is the best so far."""
    settings = recipe.train
    metric = settings.validation.metric
    if not metrics:
        return False
    if metric not in metrics:
        raise RecipeError(
            f"train.validation.metric = {metric!r}, but validation measured {one_of(metrics, metric)} only; "
            "choose one of these"
        )
    value = metrics[metric]
    if math.isfinite(value) and (progress.best is None or better(recipe, value, progress.best.value)):
        progress.best = Best(value, progress.step)
        progress.stale = progress.waited = 0
        return True
    progress.stale += 1
    progress.waited += 1
    if settings.schedule.kind == "plateau" and progress.waited >= max(settings.schedule.patience, 1):
        progress.lowerings += 1
        progress.waited = 0
    if settings.average.trigger and not progress.averaged_since and progress.stale >= settings.average.trigger:
        # The averaged model starts with fresh patience.
        progress.averaged_since, progress.stale, progress.waited = progress.step, 0, 0
    return False


def reason_to_end(recipe: Recipe, progress: Progress) -> Reason | None:
    """The limit of the recipe that has been reached, if any; depends on the progress alone."""
    settings = recipe.train
    validation, target, best = settings.validation, settings.validation.target, progress.best
    if best is not None and target is not None and not better(recipe, target, than=best.value):
        return "target"
    if validation.patience and progress.stale >= validation.patience:
        return "patience"
    if settings.steps and progress.step >= settings.steps:
        return "steps"
    if settings.epochs and progress.position.epoch >= settings.epochs:
        return "epochs"
    if settings.minutes and progress.seconds >= settings.minutes * 60:
        return "minutes"
    return None


def average_is_chosen(recipe: Recipe, progress: Progress, metrics: Mapping[str, float]) -> bool:
    """Whether the average of the last checkpoints is at least as good as the best checkpoint."""
    value, best = metrics[recipe.train.validation.metric], progress.best
    return best is None or (math.isfinite(value) and not better(recipe, best.value, than=value))


def in_words(reason: Reason, settings: Training, progress: Progress, averaged: Averaged | None = None) -> str:
    """The message that training has ended: why and, if there is an average, which weights are the model."""
    validation, metric, best = settings.validation, settings.validation.metric, progress.best
    so_far = f"the best {metric} is {best.value:.4g}, at step {best.step}" if best else "nothing was validated"
    if progress.step < (warmup := settings.schedule.warmup):
        so_far += (
            f"; the rate was still rising, because the run had {progress.step} steps and train.schedule.warmup is "
            f"{warmup}: lower that, make batches smaller, or train longer"
        )
    if averaged is not None:
        value = f" ({metric} {averaged.metrics[metric]:.4g})" if metric in averaged.metrics else ""
        average = f"the average of the last {averaged.checkpoints} checkpoints{value}"
        so_far += "; the model is " + (average if averaged.chosen else f"that one, because {average} is worse")
    return {
        "target": f"{metric} reached train.validation.target = {validation.target}; {so_far}",
        "patience": f"{metric} has not improved in {progress.stale} validations "
        f"(train.validation.patience = {validation.patience}); {so_far}",
        "steps": f"reached train.steps = {settings.steps}; {so_far}",
        "epochs": f"reached train.epochs = {settings.epochs}; {so_far}",
        "minutes": f"train.minutes = {settings.minutes:g} are over; {so_far}",
        "interrupted": f"stopped at step {progress.step}, and everything is saved; continue with --resume",
    }[reason]
