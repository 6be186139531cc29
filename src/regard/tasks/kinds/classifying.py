"""Classifying: texts in, a label for each out, or several."""

from collections.abc import Sequence

from regard.recipe.classifying import ClassifyingCorpus, ClassifyingRecipe
from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb

ENDINGS = (".ft", ".fasttext")
"""Suffixes of files that can only be texts with labels; TSV and JSON Lines may be pairs too."""


def are_labelled(files: Sequence[str]) -> bool:
    return all(file.removesuffix(".gz").endswith(ENDINGS) for file in files)


def register() -> None:
    better = Metric(more_is_better=True)
    kind = TaskKind(
        help="Assigns one or more labels to each text: sentiment, topic, language, dialogue acts.",
        recipe=ClassifyingRecipe,
        corpus=ClassifyingCorpus,
        takes=are_labelled,
        check="regard.data.labelled:check_labelled",
        load="regard.tasks.classifier:load_classifier",
        prepare="regard.tasks.classifying:ClassifyingTask.prepare",
        metrics={"loss": LOSS, "accuracy": better, "macro_f1": better, "micro_f1": better},
        verbs=(Verb("classify", "Label texts from standard input, line by line.", "regard.cli.classify:classify"),),
    )
    TASKS.register("classifying", kind)
