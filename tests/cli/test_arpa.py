"""`regard arpa`: n-gram models out and in again."""

from pathlib import Path

import pytest
from command_line import regard
from language_runs import language_recipe

from regard.tasks import load_writer
from regard.train import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("arpa")
    run(language_recipe(place, "ngram"), place / "ngram", reporter=lambda event: None)
    run(language_recipe(place, train={"steps": 1}), place / "recurrent", reporter=lambda event: None)
    return place


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_written_and_read_again_it_is_the_same_model(folder: Path, tmp_path: Path, name: str) -> None:
    told = regard("arpa", folder / "ngram", tmp_path / name)
    assert told.code == 0
    assert told.err.endswith(f" n-grams in {tmp_path / name}\n")
    told = regard("arpa", tmp_path / name, tmp_path / "again")
    assert told.code == 0, told.err
    lines = ["the cat sees a dog .", "an unheard thing", ""]
    first, second = (load_writer(place, device="cpu") for place in (folder / "ngram", tmp_path / "again"))
    assert second.recipe.model.kind == "ngram"
    assert first.score(lines).log_probs.tolist() == pytest.approx(second.score(lines).log_probs.tolist(), abs=1e-5)
    assert regard("generate", tmp_path / "again", "--tokens", 3).code == 0
    assert regard("score", tmp_path / "again", folder / "test.txt").code == 0


def test_what_cannot_be_is_refused_in_words(folder: Path, tmp_path: Path) -> None:
    told = regard("arpa", folder / "recurrent", tmp_path / "out.arpa")
    assert told.code == 2
    assert "an ARPA file holds n-grams, but this model is of kind 'recurrent'; name a model of kind 'ngram'" in told.err
    assert not (tmp_path / "out.arpa").exists()
    (tmp_path / "bad.arpa").write_text("nothing of the kind\n")
    told = regard("arpa", tmp_path / "bad.arpa", tmp_path / "model")
    assert told.code == 2
    assert f"{tmp_path / 'bad.arpa'}" in told.err
    assert not (tmp_path / "model").exists()
    regard("arpa", folder / "ngram", tmp_path / "good.arpa")
    told = regard("arpa", tmp_path / "good.arpa", folder / "recurrent")
    assert "there is a model here already" in told.err
