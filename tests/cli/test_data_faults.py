"""Wrong data is seen by the commands: before training, and where files are given to a trained model."""

from pathlib import Path
from shutil import copytree

import pytest
from command_line import RECIPE, Trained, regard, write_corpus
from pair_strategies import spoken_pairs, two_files

SWAPPED = "source and target seem to be swapped for this model"


@pytest.mark.parametrize("command", ["evaluate", "score", "align"])
def test_files_swapped_against_a_trained_model(trained: Trained, tmp_path: Path, command: str) -> None:
    write_corpus(tmp_path, {"new": 20})
    source, target = tmp_path / "new.de", tmp_path / "new.en"
    told = regard(command, trained.folder, source, target)
    assert told.code == 0
    assert SWAPPED not in told.err
    told = regard(command, trained.folder, target, source)
    assert told.code == 0
    first = target.read_text(encoding="utf-8").split("\n")[0]
    assert told.err.startswith(f'{SWAPPED} ("{first}" is the first source): give the files in the other order\n')


@pytest.fixture(scope="module")
def without_its_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with one vocabulary for both sides, whose training text is gone."""
    place = tmp_path_factory.mktemp("gone")
    for part, lines in {"train": 200, "dev": 5, "test": 5}.items():
        two_files(place, spoken_pairs(lines, seed=len(part)), part)
    words = '[tokens.source]\nkind = "words"\n\n[tokens.target]\nkind = "words"'
    characters = '[tokens]\nshared = true\n\n[tokens.source]\nkind = "characters"'
    assert words in RECIPE
    tables = RECIPE.replace(words, characters).replace("steps = 150", "steps = 1")
    (place / "my.toml").write_text(tables, encoding="utf-8")
    told = regard("train", place / "my.toml", "--out", place / "model")
    assert told.code == 0, told.err
    for path in [*place.glob("*.de"), *place.glob("*.en")]:
        path.unlink()
    return place / "model"


@pytest.mark.parametrize("command", ["evaluate", "score", "align"])
def test_files_swapped_against_a_model_whose_text_is_gone(without_its_text: Path, tmp_path: Path, command: str) -> None:
    source, target = two_files(tmp_path, spoken_pairs(20, seed=7), "new")
    told = regard(command, without_its_text, source, target)
    assert (told.code, SWAPPED in told.err) == (0, False), told.err
    told = regard(command, without_its_text, target, source)
    assert (told.code, SWAPPED in told.err) == (0, True), told.err
    short = [(target, source) for source, target in [("ein", "the")]]
    told = regard(command, without_its_text, *two_files(tmp_path, short, "short"))
    assert SWAPPED not in told.err  # too little to tell


def test_a_model_without_languages_is_used_as_before(without_its_text: Path, tmp_path: Path) -> None:
    older = copytree(without_its_text, tmp_path / "older")
    for content in ["{}", "[]", '{"": [{}, {}]}', "{"]:
        (older / "languages.json").write_text(content, encoding="utf-8")
        files = two_files(tmp_path, [(target, source) for source, target in spoken_pairs(20, seed=7)], "new")
        told = regard("score", older, *files)
        assert (told.code, SWAPPED in told.err) == (0, False)


def test_a_table_with_commas_is_not_taken_for_text(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("a,b\n", encoding="utf-8")
    told = regard("check", path)
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        f"regard: {path}: comma-separated values are not read, because commas stand in text too; save the file with "
        "tabs between the columns and a name that ends in .tsv\n"
    )


def test_paths_are_shown_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path, {"train": 5})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert regard("check", "train.de", "train.en").out.startswith("train: 5 pairs in train.de and train.en, ")
    told = regard("check", "train.de", "no.en")
    assert "0 pairs" not in told.out
    assert told.err.startswith("regard: train: no.en: no such file")
    monkeypatch.chdir(tmp_path / "here")
    assert regard("check", "../train.de", "../train.en").out.startswith("train: 5 pairs in ../train.de and ../train.en")


def test_unknown_words_of_a_text_are_named_by_check(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("the <unk> sees <unk>\n" * 3, encoding="utf-8")
    told = regard("check", path)
    assert told.code == 0
    assert (
        "train: <unk> stands 6 times in the text, as a word like others; if it means an unknown word, "
        'set tokens.unknown = "<unk>"'
    ) in told.out
    assert "<unk> stands" not in regard("check", path, "--set", "tokens.unknown=<unk>").out
