"""What a model is for, from text to text: how examples become batches, and how a trained model is used.

Names are found when they are first used: what is known of each task (`tasks.kinds`) must not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.tasks.language import LanguageTask
    from regard.tasks.loading import load, load_translator, load_writer, task_of
    from regard.tasks.task import Task
    from regard.tasks.trained import Trained
    from regard.tasks.translation import TranslationTask
    from regard.tasks.translator import Scored, Translation, Translator
    from regard.tasks.writer import ScoredText, Writer

_HOMES = {
    "LanguageTask": "language",
    "Scored": "translator",
    "ScoredText": "writer",
    "Task": "task",
    "Trained": "trained",
    "Translation": "translator",
    "TranslationTask": "translation",
    "Translator": "translator",
    "Writer": "writer",
    "load": "loading",
    "load_translator": "loading",
    "load_writer": "loading",
    "task_of": "loading",
}

__all__ = [
    "LanguageTask",
    "Scored",
    "ScoredText",
    "Task",
    "Trained",
    "Translation",
    "TranslationTask",
    "Translator",
    "Writer",
    "load",
    "load_translator",
    "load_writer",
    "task_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard.tasks' has no attribute {name!r}")
    return getattr(import_module(f"regard.tasks.{_HOMES[name]}"), name)
