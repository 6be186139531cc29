"""A trained model in a folder, ready for use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, UsageError
from regard.misuse import explained
from regard.recipe import TASKS, AnyRecipe
from regard.registry import locate


def task_of(folder: str | Path) -> str:
    """The task that the model in a folder was trained for."""
    return ModelFolder(Path(folder)).read_recipe(AnyRecipe).task


def refuse_other_task(folder: Path, wanted: str) -> None:
    """Refuses a folder whose model is for another task, or that holds none."""
    task = task_of(folder)
    if task != wanted:
        verbs = [verb.name for verb in TASKS[task].verbs]
        commands = "its command is" if len(verbs) == 1 else "its commands are"
        raise ModelError(
            f"{folder}: this model is for {task}, and a model for {wanted} is needed here; {commands} "
            f"{', '.join(verbs)}"
        )


def refuse_company(folder: str | Path, what: str, others: Sequence[str | Path], changes: Sequence[str] = ()) -> None:
    """Refuses other folders and changes beside a model that works alone and has no settings to change."""
    if others:
        raise UsageError(f"{folder}: is a {what}, which works alone; name one folder")
    if changes:
        raise UsageError(f"--set {changes[0]!r}: a {what} stays as it is; leave it out")


@explained
def load(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> Any:
    """The trained model in a folder, ready for use; `changes` are settings such as `decode.beam=10`.

    Its class is that of its task, such as `Translator`, `Writer` or `Tagger`, and printing it says what it is. With
    folders of `others`, translators write together."""
    return locate(TASKS[task_of(folder)].load)(folder, *others, device=device, changes=changes)
