"""What the model in a folder is for."""

from pathlib import Path

from regard.checkpoint import ModelFolder
from regard.errors import ModelError
from regard.recipe import Recipe

VERBS = {"translation": "translate, score, align or look", "language": "generate or score"}
"""What the models of each task can do, as commands."""


def task_of(folder: str | Path) -> str:
    """The task that the model in a folder was trained for."""
    return ModelFolder(Path(folder)).read_recipe(Recipe).task


def refuse_other_task(folder: Path, wanted: str) -> None:
    """Refuses a folder whose model is for another task, or that holds none."""
    task = task_of(folder)
    if task != wanted:
        raise ModelError(
            f"{folder}: this model is for {task}, and a model for {wanted} is needed here; it can {VERBS[task]}"
        )
