"""A trained model in a folder, ready for use: a translator or a writer, by what it was trained for."""

from collections.abc import Sequence
from pathlib import Path

from regard.errors import UsageError
from regard.tasks.ensembles import load_ensemble
from regard.tasks.purpose import refuse_other_task, task_of
from regard.tasks.translator import Translator
from regard.tasks.writer import Writer


def load(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> Translator | Writer:
    """The trained model in a folder, ready for use; `changes` are settings such as `decode.beam=10`.

    A translation model is a Translator (`load_translator` says what the rest means), a language model a Writer."""
    if task_of(folder) == "language":
        if others:
            raise UsageError(f"{folder}: is a language model; only translation models write together")
        return load_writer(folder, device=device, changes=changes)
    return load_translator(folder, *others, device=device, changes=changes)


def load_translator(
    folder: str | Path, *others: str | Path, device: str = "auto", changes: Sequence[str] = ()
) -> Translator:
    """The translator in a folder.

    With folders of `others` they write together, as an ensemble: the mean of their probabilities.
    """
    folders = [Path(each) for each in (folder, *others)]
    for each in folders:
        refuse_other_task(each, "translation")
    if others:
        return load_ensemble(folders, device=device, changes=changes)
    return Translator.load(folders[0], device=device, changes=changes)


def load_writer(folder: str | Path, *, device: str = "auto", changes: Sequence[str] = ()) -> Writer:
    """The language model in a folder."""
    refuse_other_task(Path(folder), "language")
    return Writer.load(Path(folder), device=device, changes=changes)
