"""What a model is for, from text to text: how examples become batches, and how a trained model is used."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from regard.checkpoint import ModelFolder
from regard.tasks.ensembles import load_ensemble
from regard.tasks.language import LanguageTask, prepare_language
from regard.tasks.task import Task
from regard.tasks.translation import TranslationTask
from regard.tasks.translator import Scored, Translation, Translator

TASKS: dict[str, Callable[[Any, Path, Callable[[str], None]], Task]] = {
    "translation": TranslationTask.prepare,
    "language": prepare_language,
}
"""Prepares the data of a recipe, by its `task`, in the folder of a run; a function is told what was found."""


def load(
    folder: str | Path,
    *others: str | Path,
    device: str = "auto",
    changes: Sequence[str] = (),
    engine: str = "own",
) -> Translator:
    """The trained model in a folder, ready for use; `changes` are settings such as `decode.beam=10`.

    With folders of `others` they write together, as an ensemble: the mean of their probabilities.

    `engine` searches for outputs: our `own`, or `ctranslate2` or `ctranslate2:int8`, which are faster on a CPU, run
    Transformers alone, and are seen by no tap.
    """
    models = [ModelFolder(Path(each)) for each in (folder, *others)]
    for model in models:
        model.check_is_model()
    if others:
        return load_ensemble([model.path for model in models], device=device, changes=changes, engine=engine)
    return Translator.load(models[0].path, device=device, changes=changes, engine=engine)


__all__ = ["TASKS", "LanguageTask", "Scored", "Task", "Translation", "TranslationTask", "Translator", "load"]
