"""Learning the vectors of a recipe."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from regard.recipe import VectorsRecipe
from regard.recipe import vectors as names
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus
from regard.vectors.learning_method import Advance, LearningMethod
from regard.vectors.vectors import Vectors

LEARNERS: Mapping[str, LearningMethod] = names.LEARNERS


def learn(recipe: VectorsRecipe, corpus: Corpus, checkpoints: Checkpoints) -> Iterator[Advance | Vectors]:
    """Learns the vectors of a recipe from its text; yields progress, then the vectors."""
    return LEARNERS[recipe.vectors.kind](recipe.vectors, corpus, recipe.seed, checkpoints)


def checkpoints_in(folder: Path, recipe: VectorsRecipe, corpus: Corpus) -> Checkpoints:
    return Checkpoints(folder, recipe.vectors.save_every, corpus.fingerprint)
