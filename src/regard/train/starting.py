"""Starting a run: with a new model, from another model's weights, or from a checkpoint."""

from pathlib import Path

from regard.checkpoint import ModelFolder, Progress
from regard.errors import ModelError, UsageError, counted
from regard.recipe import AnyRecipe, Recipe, Starting, settings
from regard.tasks.starting_model import differing
from regard.tasks.task import Task
from regard.train.fast_defaults import LEFT
from regard.train.learner import Learner
from regard.train.saving import Keeper
from regard.train.schedules import count_pass, needs_count

FREE = (
    *("data.train", "data.dev", "data.test", "decode."),
    *("train.steps", "train.epochs", "train.minutes", "train.validation.patience", "train.validation.target"),
    *("train.device", "train.capture", "train.keep", "train.log_every", "train.bad_steps"),
)
"""Settings that may change when a run is resumed: limits, device, paths of data files."""


def begin(task: Task, learner: Learner, keeper: Keeper) -> tuple[Progress, str, bool]:
    """The progress to continue from, a message about what the run starts from, and whether it is new."""
    name, complaints = keeper.find()
    if name is not None:
        progress = keeper.resume(learner, name)
        return progress, "\n".join([*complaints, f"resumes from {name}, after step {progress.step}"]), False
    progress, other = Progress(), task.recipe.train.start_from
    if needs_count(task.recipe.train):
        progress.batches_in_pass = count_pass(task.batches(progress.position))
    if other:
        learner.start_from(Path(other))
        return progress, f"begins with the weights of {other}", True
    said, start = learner.start_new(task), task.recipe.train.start
    if start.model:
        _start_from_parts(learner, task.recipe, start)
        frozen = f"; they are frozen for {counted(start.frozen_steps, 'step')}" if start.frozen_steps else ""
        said.append(f"begins with {', '.join(start.parts)} of {start.model}; everything else is new{frozen}")
        return progress, "\n".join(said), True
    return progress, "\n".join([*said, "starting with new weights"]), True


def _start_from_parts(learner: Learner, recipe: Recipe, start: Starting) -> None:
    differ: list[str] = []
    try:
        differ = _differences(recipe, ModelFolder(Path(start.model)).read_recipe(AnyRecipe), start.parts)
        learner.start_from_parts(start)
    except ModelError as error:
        settings = f"; settings that differ: {', '.join(differ)}" if differ else ""
        raise ModelError(f"train.start: {error}{settings}") from None


def _differences(ours: Recipe, theirs: AnyRecipe, parts: list[str]) -> list[str]:
    """Settings that differ between the tables that decide the shapes of parts."""
    found: dict[str, None] = {}
    for name in (part.split(".")[0] for part in parts):
        found |= dict.fromkeys(differing(*(_table_of(recipe, name) for recipe in (ours, theirs))))
    return list(found)


def _table_of(recipe: AnyRecipe, part: str) -> object:
    """That of the words, of an encoder, or of the whole model."""
    model = getattr(recipe, "model", None)
    if part == "encoder":
        return getattr(model, "source_encoder", None) or getattr(model, "encoder", None) or model
    return getattr(recipe, "words", None) if part == "words" else model


def check_same_run(before: AnyRecipe, now: AnyRecipe, where: Path, free: tuple[str, ...] = FREE) -> None:
    """Refuses to resume a run with a recipe that would give another result; settings whose names begin with one of
    `free` may differ, and what a recipe leaves to the device or to the text is as the run has it."""
    left = {*(f"train.{name}" for name in LEFT), "evaluation.bleu_tokenizer"}
    for name in (setting.name for setting in settings()):
        was, is_now = _setting(before, name), _setting(now, name)
        if was != is_now and not name.startswith(free) and not (name in left and is_now == "auto"):
            raise UsageError(
                f"{where}: this run was begun with {name} = {was!r}, but the recipe now says {is_now!r}; "
                "resume with the recipe it was begun with, or begin another run in another folder"
            )


def _setting(recipe: AnyRecipe, name: str) -> object:
    """The value of a setting by its dotted name; None if the recipe has no such setting."""
    value: object = recipe
    for part in name.split("."):
        value = getattr(value, part, None)
    return value
