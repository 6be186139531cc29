"""The base classes of recipes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import model_validator

from regard.display import html_table
from regard.errors import one_of
from regard.recipe.kinds import TASKS
from regard.recipe.section import Section, Seed
from regard.recipe.training import Training

HeldOut = Literal["dev", "test"]
"""A part of a corpus that no model is trained on."""


class AnyRecipe(Section):
    """The full description of a run: the settings that recipes of all tasks share."""

    task: str
    """What the model is for; the task determines which other settings exist."""
    seed: Seed = 1
    """Seed for all randomness: data order, initial weights, dropout, generated corpora."""

    def _repr_html_(self) -> str:
        """A notebook shows the settings that differ from their defaults."""
        changed = {"task": self.task} | self.model_dump(exclude_defaults=True)
        return html_table(_settings(changed), title="recipe", heading=("setting", "value"))


def _settings(tables: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Each setting with the names of its tables, and its value."""
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{before}{name}.")
        else:
            yield before + name, json.dumps(value, ensure_ascii=False, default=str)


class Corpus(Section):
    """`[data]`: where text comes from."""

    def has(self, part: HeldOut) -> bool:
        """Whether there is development or test text."""
        return bool(getattr(self, part, None))

    @property
    def is_generated(self) -> bool:
        """Whether it is generated, and not read from files."""
        return False


class Recipe(AnyRecipe):
    """The settings shared by recipes of all models that the trainer trains."""

    data: Corpus
    """Where text comes from."""
    train: Training
    """The training loop."""

    @model_validator(mode="after")
    def _training_fits_the_task(self) -> Self:
        validation, known = self.train.validation, TASKS[self.task].metrics
        if validation.metric not in known:
            allowed = one_of(known, validation.metric)
            raise ValueError(f"train.validation.metric = {validation.metric!r} is not allowed; allowed are {allowed}")
        if validation.decode and not any(metric.decodes for metric in known.values()):
            raise ValueError(
                f"train.validation.decode = true, but task = {self.task!r} has no metric that decodes; leave it out"
            )
        wishes = {
            "train.validation.patience": validation.patience > 0,
            "train.validation.target": validation.target is not None,
            f"train.validation.metric = {validation.metric!r}": validation.metric != "loss",
            "train.validation.decode": validation.decode,
            "train.schedule.kind = 'plateau'": self.train.schedule.kind == "plateau",
        }
        wish = next((name for name, wished in wishes.items() if wished), "")
        if wish and not self.data.has("dev"):
            raise ValueError(f"{wish} needs development text; set data.dev")
        return self

    @property
    def validates_by_decoding(self) -> bool:
        """Whether validations decode, because the metric or `validation.decode` requires it."""
        validation = self.train.validation
        return validation.decode or TASKS[self.task].metrics[validation.metric].decodes
