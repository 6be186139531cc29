"""What a model is for, from text to text: how examples become batches, and how a trained model is used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.tasks.language import LanguageTask, prepare_language
from regard.tasks.loading import load, load_translator, load_writer
from regard.tasks.purpose import task_of
from regard.tasks.task import Task
from regard.tasks.translation import TranslationTask
from regard.tasks.translator import Scored, Translation, Translator
from regard.tasks.writer import ScoredText, Writer

TASKS: dict[str, Callable[[Any, Path, Callable[[str], None]], Task]] = {
    "translation": TranslationTask.prepare,
    "language": prepare_language,
}
"""Prepares the data of a recipe, by its `task`, in the folder of a run; a function is told what was found."""


__all__ = [
    "TASKS",
    "LanguageTask",
    "Scored",
    "ScoredText",
    "Task",
    "Translation",
    "TranslationTask",
    "Translator",
    "Writer",
    "load",
    "load_translator",
    "load_writer",
    "task_of",
]
