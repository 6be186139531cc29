"""Models that another version wrote, as users of the commands meet them: told clearly, and nothing of them is lost."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from command_line import RECIPE, Outcome, Trained, content, regard, regard_alone, untouched, write_corpus
from language_runs import language_recipe

import regard as library
from regard.checkpoint import ModelFolder
from regard.errors import ModelWarning, with_short_paths
from regard.format_version import FILE, FORMAT, UNVERSIONED, FormatVersion
from regard.recipe import write_recipe

NOW = version("regard")
SHORT = ["--set", "train.steps=4", "--set", "train.validation.every=2"]


def newer(folder: Path) -> None:
    """Makes a folder look as if a version of the future had written it."""
    (folder / FILE).write_bytes(FormatVersion(FORMAT + 1, "9.0").to_json())


def from_before(folder: Path) -> None:
    """Makes a folder look as if it had been written before formats were counted."""
    (folder / FILE).unlink()


def refused(outcome: Outcome, said: str) -> None:
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == with_short_paths(f"regard: {said}")


def of_the_future(newest: int = FORMAT) -> str:
    return (
        f"written by Regard 9.0 in format {newest + 1}, but this is Regard {NOW}, which reads formats up to {newest}; "
        "upgrade Regard\n"
    )


def warned(folder: Path | str) -> str:
    return (
        f"regard: warning: {folder}: predates format versions, so this release may compute different results from it; "
        "re-evaluate it, or train it again\n"
    )


@pytest.fixture
def model(trained: Trained, tmp_path: Path) -> Path:
    """A copy of the tiny translator, to be changed."""
    return Path(shutil.copytree(trained.folder, tmp_path / "model"))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with recipes of a tiny translator and of an n-gram model."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path, {"train": 40, "dev": 4, "test": 4})
    Path("my.toml").write_text(RECIPE, encoding="utf-8")
    Path("text").mkdir()
    Path("ngram.toml").write_text(write_recipe(language_recipe(tmp_path / "text", "ngram")), encoding="utf-8")
    return tmp_path


def test_a_folder_says_by_whom_it_was_written(trained: Trained) -> None:
    assert json.loads((trained.folder / FILE).read_text()) == {"format": FORMAT, "version": NOW}


@pytest.mark.parametrize(
    "command", [["translate"], ["score", "dev.de", "dev.en"], ["look", "eins"], ["evaluate"], ["--ensemble"]]
)
def test_a_model_of_the_future_is_refused_by_every_command(
    model: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(trained.recipe.parent)
    newer(model)
    name, *rest = command
    given = ["translate", trained.folder, name] if name == "--ensemble" else [name]
    with untouched(model):
        told = regard(*given, model, *rest, stdin=b"eins\n")
    refused(told, f"{model}: {of_the_future()}")


def test_a_model_from_before_is_used_with_one_line_of_warning(model: Path, trained: Trained) -> None:
    expected = regard("translate", trained.folder, stdin=b"eins zwei\n")
    from_before(model)
    with untouched(model):
        told = regard("translate", model, stdin=b"eins zwei\n")
    assert (told.code, told.out, told.err) == (0, expected.out, warned(model) + expected.err)
    with pytest.warns(ModelWarning, match="predates format versions"):
        library.load(model)


@pytest.mark.long
def test_a_process_of_its_own_warns_once(model: Path, trained: Trained) -> None:
    expected = regard("translate", trained.folder, stdin=b"eins zwei\n")
    from_before(model)
    alone = regard_alone("translate", model, input=b"eins zwei\n")
    assert (alone.returncode, alone.stdout.decode(), alone.stderr.decode()) == (0, expected.out, warned(model))


def test_each_model_of_an_ensemble_is_warned_of(model: Path, tmp_path: Path) -> None:
    from_before(model)
    other = shutil.copytree(model, tmp_path / "other")
    told = regard("translate", model, "--ensemble", other, stdin=b"eins\n")
    assert (told.code, told.err) == (0, warned(model) + warned(other))


def test_a_run_of_the_future_is_not_resumed_and_stays_as_it_is(written: Path) -> None:
    assert regard("train", "my.toml", "--out", "m", *SHORT).code == 0
    newer(written / "m")
    more = ["--resume", *SHORT[:1], "train.steps=6", *SHORT[2:]]
    with untouched(written / "m"):
        refused(regard("train", "my.toml", "--out", "m", *more), f"m: {of_the_future()}")
    # What its checkpoints are, is no other question where the recipe is missing.
    (written / "m/recipe.toml").unlink()
    refused(regard("train", "my.toml", "--out", "m", *more), f"m: {of_the_future()}")


@pytest.mark.parametrize(
    "begun", [FormatVersion(FORMAT, "0.0.9"), UNVERSIONED], ids=["another version", "before formats"]
)
def test_a_run_goes_on_in_another_version_with_a_warning(written: Path, begun: FormatVersion) -> None:
    assert regard("train", "my.toml", "--out", "m", *SHORT).code == 0
    from_before(written / "m")
    if begun != UNVERSIONED:
        (written / "m" / FILE).write_bytes(begun.to_json())
    told = regard("train", "my.toml", "--out", "m", "--resume", *SHORT[:1], "train.steps=6", *SHORT[2:])
    assert told.code == 0
    by = f"started by {begun} and is continued by {FormatVersion.now()}"
    assert f"regard: warning: m: this run was {by}, so its results may differ\n" in told.err
    assert told.err.count("warning") == 1
    # The version that began it stays the one that is named.
    assert FormatVersion.read(written / "m") == begun


def test_weights_to_start_from_are_checked_too(written: Path, model: Path) -> None:
    start = ["--set", f"train.start_from={model}"]
    from_before(model)
    told = regard("train", "my.toml", "--out", "tuned", *SHORT, *start)
    assert (told.code, told.err.count(warned(model)), told.err.count("warning")) == (0, 1, 1)
    newer(model)
    told = regard("train", "my.toml", "--out", "more", *SHORT, *start)
    refused(told, f"train.start_from: {model}: {of_the_future()}")
    assert not Path("more").exists()


def test_a_recipe_that_another_version_wrote_is_said_to_be_that(written: Path, model: Path) -> None:
    (model / FILE).write_bytes(FormatVersion(FORMAT, "9.0").to_json())
    recipe = model / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("[model]", "[model]\nmagic = true"))
    before = content(model)
    said = (
        f"regard: {recipe} (written by Regard 9.0 in format {FORMAT}, but this is Regard {NOW} in format {FORMAT}: use "
        "Regard 9.0): unknown setting 'model.magic'; known here, nearest first: "
    )
    said = with_short_paths(said)
    for command in (
        ["translate", model],
        ["train", recipe, "--out", model, "--resume"],
        ["train", recipe, "--out", "x"],
    ):
        told = regard(*command, stdin=b"eins\n")
        assert (told.code, told.err.startswith(said)) == (2, True)
    assert content(model) == before


def test_counted_models_and_imported_ones_say_it_and_are_checked(written: Path) -> None:
    assert regard("train", "ngram.toml", "--out", "counted").code == 0
    assert regard("arpa", "counted", "counted.arpa").code == 0
    assert regard("arpa", "counted.arpa", "imported").code == 0
    for name in ("counted", "imported"):
        assert FormatVersion.read(Path(name)) == FormatVersion.now()
        from_before(Path(name))
        told = regard("arpa", name, f"{name}-again.arpa")
        assert (told.code, told.err.startswith(warned(name)), told.err.count("warning")) == (0, True, 1)
        newer(Path(name))
        told = regard("score", name, "text/test.txt")
        refused(told, f"{name}: {of_the_future()}")


def test_finished_seeds_are_checked_as_models_are(written: Path) -> None:
    repeat = ["repeat", "my.toml", "--out", "out", *SHORT]
    assert regard(*repeat, "--seeds", "1").code == 0
    from_before(Path("out/seed-1"))
    told = regard(*repeat, "--seeds", "1,2", "--resume")
    assert (told.code, told.err.count(warned("out/seed-1"))) == (0, 1)
    assert "goes on" not in told.err
    newer(Path("out/seed-2"))
    with untouched(Path("out")):
        told = regard(*repeat, "--seeds", "2", "--resume", "--on-test")
    assert (told.code, told.out) == (2, "")
    assert told.err == f"{warned('out/seed-1')}regard: out/seed-2: {of_the_future()}"


def test_finished_rungs_are_checked_as_models_are(written: Path) -> None:
    ladder = ["ladder", "text/train.txt", "--dev", "text/dev.txt", "--test", "text/test.txt", "--out", "out"]
    assert regard(*ladder, "--rungs", "ngram").code == 0
    from_before(Path("out/ngram"))
    told = regard(*ladder, "--rungs", "ngram", "--resume")
    assert (told.code, told.err.count(warned("out/ngram"))) == (0, 1)
    newer(Path("out/ngram"))
    with untouched(Path("out")):
        told = regard(*ladder, "--rungs", "ngram", "--resume")
    assert (told.code, of_the_future() in told.err) == (2, True)


def test_vectors_say_it_and_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a b c d e f g h\n" * 50)
    svd = ["--set", "vectors.kind=svd", "--set", "vectors.dimension=4"]
    train = ["vectors", "train", "--text", "text.txt", "--out", "vectors", *svd]
    assert regard(*train).code == 0
    assert FormatVersion.read(Path("vectors")) == FormatVersion.now()
    about = json.loads(Path("vectors/vectors.json").read_text())
    assert (about["format"], about["version"]) == (1, NOW)
    from_before(Path("vectors"))
    told = regard(*train, "--resume")
    assert (told.code, "this run was started by an unversioned release of Regard" in told.err) == (0, True)
    assert ModelFolder(Path("vectors")).is_begun
    Path("vectors/vectors.json").write_text(json.dumps({**about, "format": 2, "version": "9.0"}))
    told = regard("vectors", "info", "vectors")
    refused(told, f"vectors: {of_the_future(newest=1)}")
