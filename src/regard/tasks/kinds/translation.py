"""Translation: text in, text out."""

from collections.abc import Sequence

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.translation import TranslationCorpus, TranslationRecipe

BOTH_SIDES = (".tsv", ".jsonl")
"""Suffixes of files that hold source and target."""


def are_pairs(files: Sequence[str]) -> bool:
    """Whether files hold pairs, by their number and names: two of them, or one that holds both sides."""
    endings = [file.removesuffix(".gz") for file in files]
    return not any(each.endswith(".csv") for each in endings) and (len(files) > 1 or endings[0].endswith(BOTH_SIDES))


def register() -> None:
    verbs = (
        Verb("translate", "Translate standard input, line by line.", "regard.cli.translate:translate"),
        Verb("back-translate", "Make training pairs from monolingual text.", "regard.cli.backtranslate:back_translate"),
        Verb("evaluate", "Evaluate a model; every number has its signature.", "regard.cli.evaluate:evaluate"),
        Verb("score", "Score a given text or translation by its log-probability.", "regard.cli.score:score_pairs"),
        Verb("align", "Print word alignments of given translations.", "regard.cli.align:align"),
        Verb("export", "Write a Transformer as a model folder for CTranslate2.", "regard.cli.export:export"),
    )
    kind = TaskKind(
        help="Generates a text from another: translation, transliteration, normalization.",
        recipe=TranslationRecipe,
        corpus=TranslationCorpus,
        takes=are_pairs,
        check="regard.tasks.checking:check_pairs",
        load="regard.tasks.translator:load_translator",
        prepare="regard.tasks.translation:TranslationTask.prepare",
        metrics={
            "loss": LOSS,
            "accuracy": Metric(more_is_better=True, decodes=True),
            "bleu": Metric(more_is_better=True, decodes=True),
            "chrf": Metric(more_is_better=True, decodes=True),
        },
        verbs=verbs,
        is_default=True,
    )
    TASKS.register("translation", kind)
