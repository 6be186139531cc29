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


def perplexity(folder: Path, lines: list[str]) -> float:
    return load_writer(folder, device="cpu").score(lines).scores[0].value


def test_the_text_s_own_unknown_word_survives(tmp_path: Path) -> None:
    """`<unk>` as a word of the text, in a recipe that does not say what it is."""
    recipe = language_recipe(tmp_path, "ngram")
    train = Path(recipe.data.train[0])
    train.write_text(train.read_text() + "the <unk> sees a <unk> .\n" * 5)
    run(recipe, tmp_path / "model", reporter=lambda event: None)
    told = regard("arpa", tmp_path / "model", tmp_path / "model.arpa")
    assert told.code == 0
    assert told.err.startswith(
        f"regard: warning: {tmp_path / 'model.arpa'}: '<unk>' is a word of this model's text, not an unknown one, and "
        "written as '<<unk>>'\n"
    )
    assert regard("arpa", tmp_path / "model.arpa", tmp_path / "again").code == 0
    lines = ["the <unk> sees a dog .", "an unheard <unk> ."]
    assert perplexity(tmp_path / "again", lines) == pytest.approx(perplexity(tmp_path / "model", lines), rel=1e-5)


@pytest.mark.parametrize("kind", ["characters", "bytes"])
def test_what_is_not_of_words_is_said_or_known_again(tmp_path: Path, kind: str) -> None:
    run(language_recipe(tmp_path, "ngram", tokens={"kind": kind}), tmp_path / "model", reporter=lambda event: None)
    told = regard("arpa", tmp_path / "model", tmp_path / "model.arpa")
    assert told.code == 0, told.err
    back = "" if kind == "characters" else ", and read back it is a model of words"
    assert told.err.startswith(
        f"regard: warning: {tmp_path / 'model.arpa'}: this model is of {kind}, which an ARPA file does not say{back}; "
        "other programs must be given text split as this model splits it, white space as ▁\n"
    )
    assert regard("arpa", tmp_path / "model.arpa", tmp_path / "again").code == 0
    again = load_writer(tmp_path / "again", device="cpu")
    assert again.tokenizer.kind == ("characters" if kind == "characters" else "words")
    lines = ["the cat sees a dog ."]
    if kind == "characters":
        assert perplexity(tmp_path / "again", lines) == pytest.approx(perplexity(tmp_path / "model", lines), rel=1e-5)
