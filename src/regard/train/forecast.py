"""An estimate of how long a run will take, printed once after its first steps; if it is hours, with faster recipes."""

from collections.abc import Callable

import torch

from regard.device import is_host
from regard.recipe import AnyRecipe, Recipe, built_in_recipes, read_recipe
from regard.train.durations import duration
from regard.train.events import Event, Started, Step
from regard.train.throughput import share_done

STEPS, SECONDS, PATIENCE = 5, 5.0, 30.0
"""Steps and seconds after the first step that an estimate needs; seconds after which any number of steps is enough."""
WORTH = 60.0
"""Remaining seconds below which no estimate is printed."""
HOUR = 3600.0
QUICK = 15.0
"""Maximum minutes of a recipe that counts as quick."""


class Forecast:
    """Gets the events of a run; prints one line."""

    def __init__(self, recipe: Recipe, say: Callable[[str], None]) -> None:
        self.recipe, self.say, self.device = recipe, say, ""
        self._first: Step | None = None
        self._is_over = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self.device = event.device
        if not isinstance(event, Step) or self._is_over:
            return
        if self._first is None:  # unlike the others, it includes one-time preparations
            self._first = event
            return
        first, settings = self._first, self.recipe.train
        seconds = (event.seconds - event.aside) - (first.seconds - first.aside)
        if seconds < SECONDS or (event.step - first.step < STEPS and seconds < PATIENCE):
            return
        self._is_over = True
        before, now = (share_done(settings, each.step, each.epoch, each.seconds) for each in (first, event))
        if now > before and (left := seconds * (1 - now) / (now - before)) >= WORTH:
            self.say(in_words(left, self.recipe.task if is_host(torch.device(self.device)) else ""))


def in_words(seconds: float, task: str) -> str:
    """The line; given a task and if it will take hours, also the recipes that take minutes on a CPU."""
    told = f"this will take about {duration(seconds)} more on this machine"
    if not task or seconds < HOUR:
        return told
    told += "; `--set train.minutes=10` stops after ten minutes"
    names = quick_recipes(task)
    return f"{told}; made for minutes on a CPU: {', '.join(names)} (`regard recipes NAME`)" if names else told


def quick_recipes(task: str) -> list[str]:
    """The built-in recipes of a task that train on the user's text and end within minutes."""
    found = {name: read_recipe(name, kind=AnyRecipe) for name in built_in_recipes()}
    return [
        name
        for name, recipe in found.items()
        if isinstance(recipe, Recipe) and recipe.task == task
        if 0 < recipe.train.minutes <= QUICK and not recipe.data.is_generated
    ]
