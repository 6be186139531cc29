"""Dependency parsing: sentences of words in, their trees out."""

from collections.abc import Sequence

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.parsing import ParsingCorpus, ParsingRecipe


def are_trees(files: Sequence[str]) -> bool:
    """Whether files are CoNLL-U, by their names."""
    return all(file.removesuffix(".gz").endswith(".conllu") for file in files)


def register() -> None:
    kind = TaskKind(
        help="Finds the dependency tree of a sentence.",
        recipe=ParsingRecipe,
        corpus=ParsingCorpus,
        takes=are_trees,
        check="regard.data.treebank:check_treebank",
        load="regard.tasks.parser:load_parser",
        prepare="regard.tasks.parsing:ParsingTask.prepare",
        metrics={
            "loss": LOSS,
            "las": Metric(more_is_better=True, decodes=True),
            "uas": Metric(more_is_better=True, decodes=True),
            "clas": Metric(more_is_better=True, decodes=True),
        },
        verbs=(Verb("parse", "Find the dependency trees of sentences, as CoNLL-U.", "regard.cli.parse:parse"),),
    )
    TASKS.register("parsing", kind)
