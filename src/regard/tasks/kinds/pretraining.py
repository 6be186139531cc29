"""Pre-training: plain text in, an encoder out that starts taggers, classifiers and parsers."""

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.pretraining import PretrainingCorpus, PretrainingRecipe


def register() -> None:
    kind = TaskKind(
        help="Pre-trains an encoder on plain text, by masked words or the next word, for other models to start from.",
        recipe=PretrainingRecipe,
        corpus=PretrainingCorpus,
        takes=lambda files: False,
        check="regard.tasks.checking:check_plain_text",
        load="regard.tasks.pretrained_encoder:load_encoder",
        prepare="regard.tasks.pretraining:PretrainingTask.prepare",
        metrics={"loss": LOSS, "perplexity": Metric(more_is_better=False), "accuracy": Metric(more_is_better=True)},
        verbs=(Verb("fill", "Fill in missing words in standard input, line by line.", "regard.cli.fill:fill"),),
    )
    TASKS.register("pretraining", kind)
