"""The layout of a model on disk."""

import fcntl
import shutil
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from train_processes import FORK, begin

from regard.checkpoint import ModelFolder
from regard.errors import ModelError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    (tmp_path / "checkpoints").mkdir()
    return ModelFolder(tmp_path)


def test_names_are_ordered_by_step_and_by_how_often_a_step_was_reached(folder: ModelFolder) -> None:
    names = ["step-00000020", "step-100000000", "step-00000020.10", "step-00000020.2", "average-00000020"]
    for name in [*names, ".going-step-00000001", "step-7", "notes"]:
        (folder.checkpoints / name).mkdir()
    assert folder.names() == ["step-00000020", "step-00000020.2", "step-00000020.10", "step-100000000"]
    assert folder.names("average") == ["average-00000020"]


def test_a_folder_without_checkpoints_has_no_names(tmp_path: Path) -> None:
    assert ModelFolder(tmp_path).names() == []


def test_a_free_name_is_never_one_that_exists(folder: ModelFolder) -> None:
    for expected in ("step-00000003", "step-00000003.1", "step-00000003.2"):
        assert folder.free_name("step", 3) == expected
        (folder.checkpoints / expected).mkdir()


def test_pointers_are_read_as_written(folder: ModelFolder) -> None:
    assert folder.current() is None
    assert folder.chosen() is None
    folder.set_current("step-00000003.1")
    folder.set_chosen("average-00000003", "model.safetensors")
    assert folder.current() == "step-00000003.1"
    assert folder.chosen() == ("average-00000003", "model.safetensors")


@pytest.mark.parametrize("text", ["../../etc/passwd", "", "step-3", "step-00000003/optimizer.safetensors"])
def test_a_pointer_cannot_lead_out_of_the_folder(folder: ModelFolder, text: str) -> None:
    for name, read in {"current": folder.current, "chosen": folder.chosen}.items():
        (folder.path / name).write_text(text)
        with pytest.raises(ModelError, match=rf"{name}: '{text}' is not the name of .*; restore it from a copy,"):
            read()


def test_a_pointer_that_is_not_text_is_named(folder: ModelFolder) -> None:
    (folder.path / "chosen").write_bytes(b"\xff\xfe")
    (folder.checkpoints / "step-00000003").mkdir()
    with pytest.raises(ModelError, match=r"chosen: not a text file; .* --resume` continue from the last intact"):
        folder.chosen()


def test_nobody_is_advised_to_go_on_from_what_is_not_there(folder: ModelFolder) -> None:
    command = f"regard train {folder.path}/recipe.toml --out {folder.path} --resume"
    assert folder.advice() == (
        f"restore it from a copy, or start with `{command}`, as no checkpoint has been saved here"
    )
    folder.set_current("step-00000003")
    assert folder.advice() == (
        f"no checkpoint is left in {folder.path}/checkpoints; restore it from a copy, or train again in another "
        f"folder: `regard train {folder.path}/recipe.toml --out FOLDER`"
    )
    (folder.checkpoints / "step-00000002").mkdir()
    assert folder.advice() == f"restore it from a copy, or let `{command}` continue from the last intact checkpoint"


def test_a_missing_folder_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere: no such folder; train a model with `regard train RECIPE --out "):
        ModelFolder(tmp_path / "nowhere").chosen()


def test_an_existing_model_is_not_trained_over(folder: ModelFolder) -> None:
    with pytest.raises(UsageError, match="there is a model here already; continue it with --resume, choose"):
        folder.check_may_train(resume=False)
    folder.check_may_train(resume=True)


def test_new_folders_and_folders_with_other_things_may_be_trained_in(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for path in (tmp_path, tmp_path / "new"):
        ModelFolder(path).check_may_train(resume=False)


def test_a_file_is_not_a_model_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file: is a file, but a model is a folder; choose another --out"):
        ModelFolder(tmp_path / "file").check_may_train(resume=True)


def _hold(path: Path, is_locked: Event) -> None:
    with ModelFolder(path).locked():
        is_locked.set()
        time.sleep(60)


def test_two_trainings_cannot_share_a_folder_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    is_locked = FORK.Event()
    holder = begin(_hold, tmp_path, is_locked)
    try:
        assert is_locked.wait(60)
        with (
            pytest.raises(UsageError, match=f"process {holder.pid} trains here; wait for it or choose another --out"),
            ModelFolder(tmp_path).locked(),
        ):
            pass
    finally:
        holder.kill()
        holder.join()
    with ModelFolder(tmp_path).locked():
        pass


def test_a_lock_whose_owner_is_not_known_keeps_others_out_too(tmp_path: Path) -> None:
    with ModelFolder(tmp_path).locked():
        (tmp_path / ".owner").unlink()
        with pytest.raises(UsageError, match="process unknown trains here"), ModelFolder(tmp_path).locked():
            pass


@pytest.mark.parametrize("there", ["", "new", "new/deep"])
def test_a_training_that_is_refused_leaves_nothing_behind(tmp_path: Path, there: str) -> None:
    (tmp_path / there).mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    folder = ModelFolder(tmp_path / "new" / "deep")
    with pytest.raises(NotADirectoryError), folder.locked():
        fail(folder, ".lock")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["recipe.toml", "cache/prepared"])
def test_one_that_fails_later_leaves_what_it_has(tmp_path: Path, name: str) -> None:
    folder = ModelFolder(tmp_path / "new")
    with pytest.raises(NotADirectoryError), folder.locked():
        fail(folder, name)
    assert (folder.path / name).exists()


def fail(folder: ModelFolder, name: str) -> None:
    """What a training does that makes a file and then fails."""
    folder.cache.mkdir()
    (folder.path / name).touch()
    (folder.path / name / "file").touch()


def test_a_lock_that_was_deleted_meanwhile_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really, deleted = fcntl.flock, []

    def flock(file: int, how: int) -> None:
        if not deleted:
            deleted.append(shutil.rmtree(tmp_path / "new"))
        really(file, how)

    folder = ModelFolder(tmp_path / "new")
    monkeypatch.setattr(fcntl, "flock", flock)
    with folder.locked(), pytest.raises(UsageError, match="trains here"), folder.locked():
        pass
    assert deleted == [None]


def test_what_a_killed_run_left_unfinished_is_swept(folder: ModelFolder) -> None:
    for name in (".unfinished-step-00000003", ".going-step-00000001", "step-00000002"):
        (folder.checkpoints / name).mkdir()
    folder.sweep()
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-00000002"]


def test_hidden_files_of_others_are_left_alone(folder: ModelFolder) -> None:
    (folder.checkpoints / ".DS_Store").touch()
    (folder.checkpoints / ".nfs000000000001").touch()
    (folder.checkpoints / ".unfinished-notes").mkdir()
    before = sorted(path.name for path in folder.checkpoints.iterdir())
    folder.sweep()
    assert sorted(path.name for path in folder.checkpoints.iterdir()) == before


def test_where_no_lock_can_be_made_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in /proc, where the error says that a file is missing."""

    def mkdir(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    refused = pytest.raises(UsageError, match="new: cannot be written: no lock can be made there; choose another --out")
    with refused, ModelFolder(tmp_path / "new").locked():
        pass
