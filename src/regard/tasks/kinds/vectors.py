"""Word vectors: running text in, a vector for each word out. They have their own trainer."""

from regard.recipe.kinds import TASKS, TaskKind, Verb
from regard.recipe.vectors import VectorsRecipe


def register() -> None:
    kind = TaskKind(
        help="Trains a vector for each word.",
        recipe=VectorsRecipe,
        corpus=VectorsRecipe,
        takes=lambda files: False,
        check="regard.tasks.checking:check_text_of_vectors",
        load="regard.vectors.vectors:load_vectors",
        trainer="vectors train",
        metrics={},
        verbs=(Verb("vectors", "Word vectors: train, compare, evaluate, map, convert.", "regard.cli.vectors:vectors"),),
    )
    TASKS.register("vectors", kind)
