"""n-gram models in use, from a recipe to scores."""

from pathlib import Path

import pytest
from language_runs import language_recipe
from ngram_references import perplexity

from regard.errors import UsageError
from regard.models import NgramLanguageModel
from regard.tasks import load_writer
from regard.tasks.writer import Writer
from regard.train import run

LINES = ["the cat sees a dog .", "", "a red dog"]


def counted(folder: Path, smoothing: str) -> Writer:
    recipe = language_recipe(folder, "ngram", model={"smoothing": smoothing})
    run(recipe, folder / smoothing, reporter=lambda event: None)
    return load_writer(folder / smoothing, device="cpu")


def test_a_model_that_was_loaded_scores_as_its_table_does(tmp_path: Path) -> None:
    writer = counted(tmp_path, "kneser_ney")
    assert isinstance(writer.model, NgramLanguageModel)
    found = writer.score(LINES).likelihood.scores()[0]
    assert found.value == pytest.approx(perplexity(writer.model.table, writer.tokenizer.encode_all(LINES)), rel=1e-5)
    assert "divided" not in found.signature


def test_scores_that_are_no_probabilities_say_so(tmp_path: Path) -> None:
    scores = counted(tmp_path, "stupid_backoff").score(LINES).likelihood.scores()
    assert all("|scores:divided by their sum|" in score.signature for score in scores)


def test_a_cache_on_an_ngram_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        counted(tmp_path, "add_k").with_cache(20, theta=0.1, share=0.1)
    assert str(error.value) == (
        "a cache finds words again by what the model computed where they stood, and an n-gram model computes "
        "nothing; leave the cache out, or put it on a model that is trained"
    )
