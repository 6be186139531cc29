"""The registry of tasks: the half of each that imports no torch, and where to import the rest from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from regard.registry import Registry

if TYPE_CHECKING:
    from regard.recipe.recipe import AnyRecipe


@dataclass(frozen=True)
class Metric:
    """A metric by which validations judge a model."""

    more_is_better: bool
    decodes: bool = False
    """Whether outputs must be decoded for it, which takes longer than the loss."""


LOSS = Metric(more_is_better=False)


@dataclass(frozen=True)
class Verb:
    """A command for trained models of a task."""

    name: str
    help: str
    """One line of `regard --help`."""
    command: str
    """Where its function is: `package.module:function`, with options as typer declares them. Its first argument is the
    model's folder."""


@dataclass(frozen=True)
class TaskKind:
    """A task. `package.module:function` names are imported on first use and may import torch."""

    help: str
    """What its models do, in one sentence."""
    recipe: "type[AnyRecipe]"
    """The class of its recipes."""
    corpus: "type[AnyRecipe]"
    """The part of the recipe for reading and checking its data."""
    takes: Callable[[Sequence[str]], bool]
    """Whether files that `regard check` is given without a recipe are data of this task, by their number and names."""
    check: str
    """(corpus: the recipe or its `corpus`) -> Report: the problems in the data."""
    load: str
    """(folder, *others, device, changes) -> Trained: the trained model in a folder."""
    prepare: str = ""
    """(recipe, folder, say) -> Task: the data prepared for the trainer; empty if the task has its own trainer."""
    trainer: str = ""
    """The command that trains its recipes, if the task has its own trainer."""
    metrics: Mapping[str, Metric] = field(default_factory=lambda: {"loss": LOSS})
    """The metrics that validations may use."""
    verbs: tuple[Verb, ...] = ()
    is_default: bool = False
    """Whether recipes that name no task are for this one."""


TASKS: Registry[TaskKind] = Registry("task")


def default_task() -> str:
    """The task of a recipe that names none."""
    return next(name for name in TASKS if TASKS[name].is_default)
