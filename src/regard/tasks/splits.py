"""How good a trained model is on the development or test text of its recipe, whatever it is for."""

from pathlib import Path

from regard.data.text import Text
from regard.metrics import Score
from regard.recipe import HeldOut, LanguageRecipe, Recipe, TranslationRecipe
from regard.tasks.evaluation import evaluate, split_of
from regard.tasks.loading import load_translator, load_writer


def scores_of(folder: Path, recipe: Recipe, split: HeldOut) -> tuple[Score, ...]:
    """The scores of the model in a folder: of a translator those of `regard evaluate`, the alignment error rate
    included where the corpus has true links; of a language model those of `regard score`."""
    if isinstance(recipe, LanguageRecipe):
        writer = load_writer(folder, device=recipe.train.device)
        return writer.score_text(Text(split, recipe.data)).scores
    assert isinstance(recipe, TranslationRecipe)
    found = evaluate(load_translator(folder, device=recipe.train.device), split_of(recipe, split))
    return (*found.scores, *([found.alignment] if found.alignment else []))
