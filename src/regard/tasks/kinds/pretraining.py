"""Pre-training: plain text in, an encoder out that starts taggers, classifiers and parsers."""

from regard.recipe.kinds import LOSS, TASKS, Metric, TaskKind, Verb
from regard.recipe.pretraining import PretrainingCorpus, PretrainingRecipe


def register() -> None:
    kind = TaskKind(
        help="Trains an encoder on plain text, by masked words or the next word, to start other models from.",
        recipe=PretrainingRecipe,
        corpus=PretrainingCorpus,
        takes=lambda files: False,
        check="regard.tasks.checking:check_plain_text",
        load="regard.tasks.pretrained_encoder:load_encoder",
        prepare="regard.tasks.pretraining:PretrainingTask.prepare",
        metrics={"loss": LOSS, "perplexity": Metric(more_is_better=False), "accuracy": Metric(more_is_better=True)},
        verbs=(Verb("fill", "Fill in missing words of standard input, line for line.", "regard.cli.fill:fill"),),
    )
    TASKS.register("pretraining", kind)
