"""Tagging: sentences of words in, a tag for each word out."""

from collections.abc import Sequence

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.tagging import LABEL_METRICS, TaggingCorpus, TaggingRecipe

ENDINGS = (".conll", ".iob", ".bio")
"""Suffixes of files of tagged words in columns."""


def are_columns(files: Sequence[str]) -> bool:
    return all(file.removesuffix(".gz").endswith(ENDINGS) for file in files)


def register() -> None:
    kind = TaskKind(
        help="Assigns a tag to each word (named entities, parts of speech, chunks), and a label to the sentence.",
        recipe=TaggingRecipe,
        corpus=TaggingCorpus,
        takes=are_columns,
        check="regard.data.tagged:check_tagged",
        load="regard.tasks.tagger:load_tagger",
        prepare="regard.tasks.tagging:TaggingTask.prepare",
        metrics={"loss": LOSS} | dict.fromkeys(("accuracy", "f1", *LABEL_METRICS), Metric(more_is_better=True)),
        verbs=(Verb("tag", "Tag the words in standard input, line by line.", "regard.cli.tag:tag"),),
    )
    TASKS.register("tagging", kind)
