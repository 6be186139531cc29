"""A trained model in a folder, ready for use."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, UsageError
from regard.misuse import explained
from regard.recipe import TASKS, AnyRecipe
from regard.registry import locate

if TYPE_CHECKING:
    from regard.tasks.translator import Translator
    from regard.tasks.writer import Writer
    from regard.vectors import Vectors


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

    What it is depends on what it was trained for: a translator is a `Translator` (with folders of `others` they write
    together), a language model a `Writer`, a tagger a `Tagger`, a classifier a `Classifier`, a parser a
    `Parser`, a pre-trained encoder a `PretrainedEncoder`, a model of another package's task what that package says."""
    return locate(TASKS[task_of(folder)].load)(folder, *others, device=device, changes=changes)


def load_translator(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> "Translator":
    """The translator in a folder. With folders of `others` they write together, as an ensemble: the mean of their
    probabilities."""
    from regard.tasks.ensembles import load_ensemble
    from regard.tasks.translator import Translator

    folders = [Path(each) for each in (folder, *others)]
    for each in folders:
        refuse_other_task(each, "translation")
    if others:
        return load_ensemble(folders, device=device, changes=changes)
    return Translator.load(folders[0], device=device, changes=changes)


def load_writer(folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()) -> "Writer":
    """The language model in a folder."""
    from regard.tasks.writer import Writer

    if others:
        raise UsageError(f"{folder}: is a language model, which writes alone; name one folder")
    refuse_other_task(Path(folder), "language")
    return Writer.load(Path(folder), device=device, changes=changes)


def load_vectors(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> "Vectors":
    """The word vectors in a folder."""
    from regard.vectors import Vectors

    if others or changes:
        raise UsageError(f"{folder}: holds word vectors, which are read one folder at a time and as they are")
    return Vectors.load(folder)
