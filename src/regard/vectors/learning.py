"""The ways to learn vectors, by the name a recipe calls them."""

from collections.abc import Iterator
from pathlib import Path

from regard.recipe import VectorsRecipe
from regard.vectors.checkpoints import Checkpoints
from regard.vectors.corpus import Corpus
from regard.vectors.counting import factorize, fit_glove
from regard.vectors.learner import Advance, Learner
from regard.vectors.predicting import predict
from regard.vectors.vectors import Vectors

LEARNERS: dict[str, Learner] = {
    "skipgram": predict,
    "cbow": predict,
    "svd": factorize,
    "hellinger": factorize,
    "glove": fit_glove,
}
"""How vectors are learned, by the kind in a recipe."""


def learn(recipe: VectorsRecipe, corpus: Corpus, checkpoints: Checkpoints) -> Iterator[Advance | Vectors]:
    """Learns the vectors of a recipe from its text; they are the last thing it gives."""
    return LEARNERS[recipe.vectors.kind](recipe.vectors, corpus, recipe.seed, checkpoints)


def checkpoints_in(folder: Path, recipe: VectorsRecipe, corpus: Corpus) -> Checkpoints:
    """Where a run in a folder saves its states."""
    return Checkpoints(folder, recipe.vectors.save_every, corpus.fingerprint)
