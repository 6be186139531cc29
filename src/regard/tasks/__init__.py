"""Tasks, from text to text: how examples become batches, and how a trained model is used.

Names are imported on first use: descriptions of tasks (`tasks.kinds`) must not import torch.
"""

from typing import TYPE_CHECKING

from regard.registry import found_on_use

if TYPE_CHECKING:
    from regard.tasks.classifier import Classified, Classifier
    from regard.tasks.classifying import ClassifyingTask
    from regard.tasks.language import LanguageTask
    from regard.tasks.loading import load, task_of
    from regard.tasks.markup import MarkedTexts
    from regard.tasks.parser import Parse, Parser
    from regard.tasks.parsing import ParsingTask
    from regard.tasks.pretrained_encoder import Filled, PretrainedEncoder
    from regard.tasks.pretraining import PretrainingTask
    from regard.tasks.tagger import Tagged, Tagger
    from regard.tasks.tagging import TaggingTask
    from regard.tasks.task import Task
    from regard.tasks.trained import Trained
    from regard.tasks.translation import TranslationTask
    from regard.tasks.translations import Scored, Translation
    from regard.tasks.translator import Translator, load_translator
    from regard.tasks.word_aligner import AlignedPair, WordAligner
    from regard.tasks.writer import ScoredText, Writer, load_writer

__getattr__ = found_on_use(
    __name__,
    {
        "classifier": ("Classified", "Classifier"),
        "classifying": ("ClassifyingTask",),
        "language": ("LanguageTask",),
        "loading": ("load", "task_of"),
        "markup": ("MarkedTexts",),
        "parser": ("Parse", "Parser"),
        "parsing": ("ParsingTask",),
        "pretrained_encoder": ("Filled", "PretrainedEncoder"),
        "pretraining": ("PretrainingTask",),
        "tagger": ("Tagged", "Tagger"),
        "tagging": ("TaggingTask",),
        "task": ("Task",),
        "trained": ("Trained",),
        "translation": ("TranslationTask",),
        "translations": ("Scored", "Translation"),
        "translator": ("Translator", "load_translator"),
        "word_aligner": ("AlignedPair", "WordAligner"),
        "writer": ("ScoredText", "Writer", "load_writer"),
    },
)

__all__ = [
    "AlignedPair",
    "Classified",
    "Classifier",
    "ClassifyingTask",
    "Filled",
    "LanguageTask",
    "MarkedTexts",
    "Parse",
    "Parser",
    "ParsingTask",
    "PretrainedEncoder",
    "PretrainingTask",
    "Scored",
    "ScoredText",
    "Tagged",
    "Tagger",
    "TaggingTask",
    "Task",
    "Trained",
    "Translation",
    "TranslationTask",
    "Translator",
    "WordAligner",
    "Writer",
    "load",
    "load_translator",
    "load_writer",
    "task_of",
]
