"""A trained model in a folder, ready for use: a translator or a writer, by what it was trained for."""

from collections.abc import Sequence
from pathlib import Path

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, UsageError
from regard.recipe import read_recipe
from regard.tasks.ensembles import load_ensemble
from regard.tasks.translator import Translator
from regard.tasks.writer import Writer

VERBS = {"translation": "translate, score, align or look", "language": "generate or score"}
"""What the models of each task can do, as commands."""


def load(
    folder: str | Path,
    *others: str | Path,
    device: str = "auto",
    changes: Sequence[str] = (),
    engine: str = "own",
) -> Translator | Writer:
    """The trained model in a folder, ready for use; `changes` are settings such as `decode.beam=10`.

    A translation model is a Translator (`load_translator` says what the rest means), a language model a Writer."""
    if task_of(folder) == "language":
        if others or engine != "own":
            raise UsageError(f"{folder}: is a language model, which runs alone, and by our own engine")
        return load_writer(folder, device=device, changes=changes)
    return load_translator(folder, *others, device=device, changes=changes, engine=engine)


def load_translator(
    folder: str | Path,
    *others: str | Path,
    device: str = "auto",
    changes: Sequence[str] = (),
    engine: str = "own",
) -> Translator:
    """The translator in a folder.

    With folders of `others` they write together, as an ensemble: the mean of their probabilities.

    `engine` searches for outputs: our `own`, or `ctranslate2` or `ctranslate2:int8`, which are faster on a CPU, run
    Transformers alone, and are seen by no tap.
    """
    folders = [Path(each) for each in (folder, *others)]
    for each in folders:
        _refuse_other_task(each, "translation")
    if others:
        return load_ensemble(folders, device=device, changes=changes, engine=engine)
    return Translator.load(folders[0], device=device, changes=changes, engine=engine)


def load_writer(folder: str | Path, *, device: str = "auto", changes: Sequence[str] = ()) -> Writer:
    """The language model in a folder."""
    _refuse_other_task(Path(folder), "language")
    return Writer.load(Path(folder), device=device, changes=changes)


def task_of(folder: str | Path) -> str:
    """What the model in a folder is for."""
    model = ModelFolder(Path(folder))
    model.check_is_model()
    return read_recipe(model.recipe).task


def _refuse_other_task(folder: Path, wanted: str) -> None:
    task = task_of(folder)
    if task != wanted:
        raise ModelError(
            f"{folder}: this model is for {task}, and a model for {wanted} is needed here; it can {VERBS[task]}"
        )
