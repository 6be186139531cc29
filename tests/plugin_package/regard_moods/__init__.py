"""What another package adds to Regard: a task (the mood of a sentence), a score, an encoder, a translator, a tokenizer
and a corpus. Imports no torch."""

from collections.abc import Sequence


def are_moods(files: Sequence[str]) -> bool:
    return all(file.endswith(".moods") for file in files)


def register() -> None:
    from regard.recipe import ENCODERS, TASKS, Metric, TaskKind, Verb
    from regard.recipe.kinds import LOSS
    from regard.recipe.model import MODELS
    from regard.recipe.names import CORPORA, SCORES, TOKENIZERS
    from regard_moods.recipe import MeanModel, MoodsCorpus, MoodsRecipe, ReversedEncoding

    SCORES.register("taxicab", "regard_moods.score:taxicab")
    ENCODERS.register("reversed", "regard_moods.encoder:ReversedEncoder", table=ReversedEncoding)
    MODELS.register("mean", "regard_moods.translator:MeanTranslator", table=MeanModel)
    TOKENIZERS.register("hyphens", "regard_moods.tokenizer:Hyphens", uses=("least",))
    CORPORA.register("number-words", "regard_moods.corpus:number_words", uses=("examples",))
    kind = TaskKind(
        help="Tells the mood of a sentence.",
        recipe=MoodsRecipe,
        corpus=MoodsCorpus,
        takes=are_moods,
        check="regard_moods.task:check",
        load="regard_moods.judge:load_judge",
        prepare="regard_moods.task:MoodsTask.prepare",
        metrics={"loss": LOSS, "misses": Metric(more_is_better=False)},
        verbs=(Verb("judge", "Tell the mood of each line of standard input.", "regard_moods.command:judge"),),
    )
    TASKS.register("moods", kind)
