"""Language models: running text in, probabilities of the next tokens out."""

from collections.abc import Sequence

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.language import LanguageCorpus, LanguageRecipe


def is_text(files: Sequence[str]) -> bool:
    """Whether files are running text: any single file may be, except a table."""
    return len(files) == 1 and not files[0].removesuffix(".gz").endswith((".csv", ".tsv", ".jsonl"))


def register() -> None:
    verbs = (
        Verb("generate", "Generate text from a prompt, streamed.", "regard.cli.generate:generate"),
        Verb("score", "Score a given text or translation by its log-probability.", "regard.cli.score:score_text"),
        Verb("arpa", "Write an n-gram model as an ARPA file, or read one.", "regard.cli.arpa:arpa"),
    )
    kind = TaskKind(
        help="Computes the probability of a text, and generates text from a prompt.",
        recipe=LanguageRecipe,
        corpus=LanguageCorpus,
        takes=is_text,
        check="regard.tasks.checking:check_running_text",
        load="regard.tasks.writer:load_writer",
        prepare="regard.tasks.language:prepare_language",
        metrics={"loss": LOSS, "perplexity": Metric(more_is_better=False)},
        verbs=verbs,
    )
    TASKS.register("language", kind)
