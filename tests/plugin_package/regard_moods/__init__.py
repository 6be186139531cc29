"""What another package adds to Regard: a task (the mood of a sentence), a score and an encoder. Imports no torch."""

from collections.abc import Sequence


def are_moods(files: Sequence[str]) -> bool:
    return all(file.endswith(".moods") for file in files)


def register() -> None:
    from regard.recipe import ENCODERS, TASKS, Metric, TaskKind, Verb
    from regard.recipe.kinds import LOSS
    from regard.recipe.names import SCORES
    from regard_moods.recipe import MoodsCorpus, MoodsRecipe, ReversedEncoding

    SCORES.register("taxicab", "regard_moods.score:taxicab")
    ENCODERS.register("reversed", "regard_moods.encoder:ReversedEncoder", table=ReversedEncoding)
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
