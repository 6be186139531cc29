"""Alignment: parallel text in, which words are translations of each other out."""

from regard.recipe.alignment import AlignmentCorpus, AlignmentRecipe
from regard.recipe.kinds import TASKS, TaskKind, Verb


def register() -> None:
    kind = TaskKind(
        help="Aligns the words of two sentences that are translations of each other.",
        recipe=AlignmentRecipe,
        corpus=AlignmentCorpus,
        takes=lambda files: False,
        check="regard.tasks.aligned_words:check_pairs",
        load="regard.tasks.word_aligner:load_word_aligner",
        prepare="regard.tasks.alignment:AlignmentTask.prepare",
        verbs=(Verb("align", "Print word alignments of given translations.", "regard.cli.align:align"),),
    )
    TASKS.register("alignment", kind)
