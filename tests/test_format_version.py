"""By whom a model was written: what is said is read back, what another version would misread is refused or told."""

import json
import platform
import warnings
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path

import pytest
from checkpoint_strategies import Killed, failing_at
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard import format_version, versions
from regard.checkpoint import ModelFolder
from regard.errors import ModelError, ModelWarning, RecipeError
from regard.format_version import FILE, FORMAT, OLDEST, UNVERSIONED, FormatVersion
from regard.recipe import LanguageRecipe, Recipe, parse_recipe
from regard.tasks import evaluation

NOW = version("regard")
WHERE = Path("runs/mine")
RECIPE = {"task": "language", "data": {"corpus": "topics"}, "model": {"kind": "recurrent"}, "train": {"steps": 1}}

others = st.builds(FormatVersion, st.integers(1, 2**40), st.text(max_size=9))
readable = st.builds(FormatVersion, st.integers(OLDEST, FORMAT), st.text(max_size=9))


def written_in(path: Path, by: FormatVersion | None = None) -> ModelFolder:
    """A folder as a started run leaves it, written by version `by`."""
    folder = ModelFolder(path)
    folder.checkpoints.mkdir(parents=True)
    folder.write_recipe(parse_recipe(RECIPE, kind=LanguageRecipe))
    if by is not None:
        (path / FILE).write_bytes(by.to_json())
    return folder


@given(others)
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, by: FormatVersion) -> None:
    folder = tmp_path_factory.mktemp("folder")
    (folder / FILE).write_bytes(by.to_json())
    assert FormatVersion.read(folder) == by


def test_every_folder_says_what_this_version_writes(tmp_path: Path) -> None:
    folder = written_in(tmp_path)
    assert json.loads((tmp_path / FILE).read_text()) == {"format": FORMAT, "version": NOW}
    assert FormatVersion.read(tmp_path) == FormatVersion.now()
    assert folder.read_recipe(Recipe).task == "language"
    folder.check_may_train(resume=True)


def test_a_kill_leaves_no_recipe_without_its_format(tmp_path: Path) -> None:
    recipe = parse_recipe(RECIPE, kind=LanguageRecipe)
    for number in count():
        folder = ModelFolder(tmp_path / str(number))
        folder.path.mkdir()
        with suppress(Killed), failing_at(number, Killed) as done:
            folder.write_recipe(recipe)
        if folder.recipe.exists():
            assert (FormatVersion.read(folder.path), folder.read_recipe(LanguageRecipe)) == (
                FormatVersion.now(),
                recipe,
            )
        if len(done) < number:
            break
    assert number > 4


def test_what_a_later_version_adds_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"format": 7, "version": "9.0", "more": [1]}))
    assert FormatVersion.read(tmp_path) == FormatVersion(7, "9.0")


@given(readable)
def test_what_means_the_same_is_read_without_a_word(by: FormatVersion) -> None:
    by.check_readable(WHERE)


@given(st.integers(FORMAT + 1, 2**40), st.text(max_size=9))
def test_what_is_newer_is_neither_read_nor_resumed(number: int, by: str) -> None:
    for check in (FormatVersion(number, by).check_readable, FormatVersion(number, by).check_resumable):
        with pytest.raises(ModelError) as refused:
            check(WHERE)
        assert str(refused.value) == (
            f"runs/mine: written by Regard {by} in format {number}, but this is Regard {NOW}, which reads formats up "
            f"to {FORMAT}; upgrade Regard"
        )


def test_what_means_other_numbers_today_is_neither_read_nor_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_version, "FORMAT", 3)
    monkeypatch.setattr(format_version, "OLDEST", 3)
    with pytest.raises(ModelError) as refused:
        FormatVersion(2, "0.0.9").check_readable(WHERE, 3, 3)
    assert str(refused.value) == (
        f"runs/mine: written by Regard 0.0.9 in format 2, and Regard {NOW} in format 3 would compute different results "
        "from it; use it with Regard 0.0.9, or train it again in another folder"
    )
    with pytest.raises(ModelError) as refused:
        FormatVersion(2, "0.0.9").check_resumable(WHERE)
    assert str(refused.value) == (
        f"runs/mine: this run was started by Regard 0.0.9 in format 2, and Regard {NOW} in format 3 may continue it "
        "differently; resume it with the version that started it, or train again in another folder (--out)"
    )


def test_what_does_not_say_is_read_and_resumed_with_a_warning(tmp_path: Path) -> None:
    folder = written_in(tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.warns(ModelWarning) as told:
        assert folder.read_recipe(Recipe).task == "language"
    assert [str(each.message) for each in told] == [
        f"{tmp_path}: predates format versions, so this release may compute different results from it; re-evaluate it, "
        "or train it again"
    ]
    with pytest.warns(
        ModelWarning, match="this run was started by an unversioned release of Regard and is continued by"
    ):
        folder.check_may_train(resume=True)
    assert FormatVersion.read(tmp_path) == UNVERSIONED


def test_a_run_of_another_version_that_means_the_same_goes_on_with_a_warning(tmp_path: Path) -> None:
    folder = written_in(tmp_path, FormatVersion(OLDEST, "0.0.9"))
    with pytest.warns(ModelWarning) as told:
        folder.check_may_train(resume=True)
    assert [str(each.message) for each in told] == [
        f"{tmp_path}: this run was started by Regard 0.0.9 in format {OLDEST} and is continued by Regard {NOW} in "
        f"format {FORMAT}, so its results may differ"
    ]


def test_a_warning_about_a_folder_comes_once(tmp_path: Path) -> None:
    folders = [written_in(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        (folder.path / FILE).unlink()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for folder in folders * 3:
            folder.read_recipe(Recipe)
    assert len(told) == 2


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff", b'{"format": 0, "version": ""}', b'{"format": "1", "version": "0.1.0"}']
)
def test_damage_is_named_but_is_no_matter_of_a_recipe_beside_it(tmp_path: Path, content: bytes) -> None:
    folder = written_in(tmp_path)
    (tmp_path / FILE).write_bytes(content)
    for use in (lambda: folder.read_recipe(Recipe), lambda: folder.check_may_train(resume=True)):
        with pytest.raises(ModelError, match=rf"{FILE}: damaged: .*; restore it from a copy, or delete it, and the"):
            use()
    assert format_version.written_elsewhere(tmp_path) == ""


def test_where_nothing_is_installed_the_version_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running from the sources can train and use models too."""

    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(versions, "version", missing)
    assert FormatVersion.read(written_in(tmp_path).path) == FormatVersion(FORMAT, "unknown")
    assert set(evaluation.versions().values()) == {"unknown", platform.python_version()}
    assert regard.__version__ == "unknown"
    assert format_version.written_elsewhere(tmp_path) == ""


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ModelError, match=f"{FILE}: cannot be read: Is a directory; restore it"):
        FormatVersion.read(tmp_path)


def test_a_setting_that_another_version_wrote_is_said_to_be_that(tmp_path: Path) -> None:
    folder = written_in(tmp_path, FormatVersion(FORMAT, "9.0"))
    folder.recipe.write_text(folder.recipe.read_text().replace("[model]", "[model]\nmagic = true"))
    with pytest.raises(RecipeError) as refused:
        folder.read_recipe(Recipe)
    assert str(refused.value).startswith(
        f"{tmp_path}/recipe.toml (written by Regard 9.0 in format {FORMAT}, but this is Regard {NOW} in format {FORMAT}"
        ": use Regard 9.0): unknown setting 'model.magic'; known here, nearest first: "
    )
    with pytest.raises(RecipeError, match=r"^--set 'model.magic=1': unknown setting 'model.magic'; nearest known: "):
        folder.read_recipe(Recipe, ["model.magic=1"])
