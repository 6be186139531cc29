"""Saving and loading: whole or not at all, and checked."""

import json
import os
from dataclasses import replace
from errno import ENOSPC
from itertools import count
from pathlib import Path

import pytest
import torch
from checkpoint_strategies import Killed, checkpoint_at, failing_at
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.checkpoint import (
    Checkpoint,
    ModelFolder,
    Progress,
    cannot_write,
    find_checkpoint,
    load_checkpoint,
    load_weights,
    prune,
    save_average,
    save_checkpoint,
)
from regard.checkpoint.folder import AVERAGE, CHECKSUMS, MODEL, OPTIMIZER, PROGRESS
from regard.data.batches import CorpusPosition
from regard.errors import ModelError, TrainingError

FILES = [MODEL, OPTIMIZER, AVERAGE, PROGRESS, CHECKSUMS]


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    return ModelFolder(tmp_path)


def save(folder: ModelFolder, checkpoint: Checkpoint) -> str:
    """As the trainer does it."""
    name = save_checkpoint(folder, checkpoint)
    folder.set_chosen(name, checkpoint.used)
    folder.set_current(name)
    prune(folder, 2, [])
    return name


def assert_same(one: Checkpoint, other: Checkpoint) -> None:
    for part in ("weights", "optimizer", "average", "carry"):
        mine, theirs = getattr(one, part), getattr(other, part)
        assert (mine is None) == (theirs is None)
        assert (mine or {}).keys() == (theirs or {}).keys()
        for name in mine or {}:
            assert mine[name].dtype == theirs[name].dtype
            torch.testing.assert_close(mine[name], theirs[name], rtol=0, atol=0, equal_nan=True)
    assert one.progress == other.progress


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
dtypes = st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])


@st.composite
def tensors(draw: st.DrawFn) -> dict[str, torch.Tensor]:
    shapes = draw(st.dictionaries(names, st.lists(st.integers(0, 3), max_size=3), max_size=3))
    return {name: (torch.randn(shape) * 9).to(draw(dtypes)) for name, shape in shapes.items()}


@given(tensors(), tensors(), st.none() | tensors(), st.none() | tensors(), st.integers(0, 10**9), st.floats(0, 1e9))
def test_loaded_is_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory,
    weights: dict[str, torch.Tensor],
    optimizer: dict[str, torch.Tensor],
    average: dict[str, torch.Tensor] | None,
    carry: dict[str, torch.Tensor] | None,
    step: int,
    seconds: float,
) -> None:
    folder = ModelFolder(tmp_path_factory.mktemp("model"))
    progress = Progress(step=step, seconds=seconds, position=CorpusPosition(1, 2, 3), validated=["step-00000001"])
    checkpoint = Checkpoint(weights, optimizer, average, carry, progress)
    assert_same(load_checkpoint(folder, save_checkpoint(folder, checkpoint)), checkpoint)


def test_a_copy_stays_as_it_is() -> None:
    checkpoint = replace(checkpoint_at(3, average=True), carry={"0/state": torch.ones(2)})
    copy = checkpoint.copy()
    assert copy.progress == checkpoint.progress
    for one, other in zip(parts(checkpoint), parts(copy), strict=True):
        assert one.keys() == other.keys()
        for name, tensor in one.items():
            assert torch.equal(tensor, other[name])
            tensor.add_(1)
            assert not torch.equal(tensor, other[name])
    checkpoint.progress.validated.append("step-00000003")
    checkpoint.progress.step += 1
    assert (copy.progress.validated, copy.progress.step) == ([], 3)


def parts(checkpoint: Checkpoint) -> list[dict[str, Tensor]]:
    return [checkpoint.weights, checkpoint.optimizer, checkpoint.average or {}, checkpoint.carry or {}]


def test_tensors_that_are_views_are_saved_as_they_look(folder: ModelFolder) -> None:
    weights = {"weight": torch.arange(6.0).view(2, 3).T}
    name = save_checkpoint(folder, Checkpoint(weights, {}, None, None, Progress()))
    assert torch.equal(load_checkpoint(folder, name).weights["weight"], weights["weight"])


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "empty"])
def test_damage_is_found_named_and_passed_over(folder: ModelFolder, file: str, damage: str) -> None:
    first = save(folder, checkpoint_at(1, average=True))
    second = save(folder, checkpoint_at(2, average=True))
    path = folder.checkpoints / second / file
    content = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "empty":
            path.write_bytes(b"")
        case "changed":
            path.write_bytes(content.replace(b"0", b"1") if file == CHECKSUMS else content[:-1] + b"x")
    with pytest.raises(ModelError, match=r"step-00000002/.*(damaged|cannot be read).*; restore it from a copy,"):
        load_checkpoint(folder, second)
    name, complaints = find_checkpoint(folder)
    assert name == first
    assert len(complaints) == 1
    assert second in complaints[0]


@pytest.mark.parametrize("content", ["[]", '{"model.safetensors": 3}'])
def test_checksums_of_another_kind_are_refused(folder: ModelFolder, content: str) -> None:
    name = save(folder, checkpoint_at(1))
    (folder.checkpoints / name / CHECKSUMS).write_text(content)
    with pytest.raises(ModelError, match=r"checksums.json: damaged: it is not a table of checksums"):
        load_checkpoint(folder, name)


def resign(folder: ModelFolder, name: str, file: str, content: bytes) -> None:
    """Puts something else into a checkpoint, with a checksum that fits."""
    from hashlib import sha256

    (folder.checkpoints / name / file).write_bytes(content)
    sums = json.loads((folder.checkpoints / name / CHECKSUMS).read_bytes())
    sums[file] = sha256(content).hexdigest()
    (folder.checkpoints / name / CHECKSUMS).write_text(json.dumps(sums))


def test_a_pickle_is_not_loaded(folder: ModelFolder, tmp_path: Path) -> None:
    name = save(folder, checkpoint_at(1))
    torch.save({"weight": torch.ones(2)}, tmp_path / "pickle")
    resign(folder, name, MODEL, (tmp_path / "pickle").read_bytes())
    with pytest.raises(ModelError, match=r"model.safetensors: not tensors \("):
        load_weights(folder.path)


@pytest.mark.parametrize(("content", "says"), [(b"{", "JSON"), (b'{"step": "many"}', "step: Input should be a valid")])
def test_progress_of_another_kind_is_refused(folder: ModelFolder, content: bytes, says: str) -> None:
    name = save(folder, checkpoint_at(1))
    resign(folder, name, PROGRESS, content)
    with pytest.raises(ModelError, match=rf"progress.json: .*{says}"):
        load_checkpoint(folder, name)


def test_a_file_without_a_checksum_is_not_read(folder: ModelFolder) -> None:
    name = save(folder, checkpoint_at(1))
    folder.set_chosen(name, AVERAGE)
    with pytest.raises(ModelError, match=r"average.safetensors: not a file of this checkpoint"):
        load_weights(folder.path)


def test_a_lost_or_unreadable_pointer_falls_back_to_the_newest(folder: ModelFolder) -> None:
    name = save(folder, checkpoint_at(1))
    folder.set_current("step-00000009")
    found, complaints = find_checkpoint(folder)
    assert (found, len(complaints)) == (name, 1)
    assert "step-00000009: missing, though it is the current checkpoint" in complaints[0]
    (folder.path / "current").write_text("nonsense")
    found, complaints = find_checkpoint(folder)
    assert (found, len(complaints)) == (name, 1)
    assert "'nonsense' is not the name of a checkpoint" in complaints[0]


def test_checkpoints_after_the_current_one_do_not_count(folder: ModelFolder) -> None:
    name = save(folder, checkpoint_at(1))
    save_checkpoint(folder, checkpoint_at(2))
    assert find_checkpoint(folder) == (name, [])


def test_a_good_checkpoint_is_one_saved_outside_a_row_of_bad_steps(folder: ModelFolder) -> None:
    good = save(folder, checkpoint_at(1))
    bad = save(folder, checkpoint_at(2, streak=3))
    assert find_checkpoint(folder) == (bad, [])
    assert find_checkpoint(folder, good=True) == (good, [])


def test_nothing_is_found_where_nothing_is(folder: ModelFolder) -> None:
    assert find_checkpoint(folder) == (None, [])


def test_old_checkpoints_go_and_what_is_needed_stays(folder: ModelFolder) -> None:
    for step in range(1, 8):
        save_checkpoint(folder, checkpoint_at(step))
    old, average = save_average(folder, {}, 5), save_average(folder, {}, 6)
    folder.set_current("step-00000005")
    folder.set_chosen("step-00000002", MODEL)
    prune(folder, 2, ["step-00000003", average])
    assert folder.names() == [f"step-0000000{step}" for step in (2, 3, 5, 6, 7)]
    assert folder.names("average") == [average] != [old]


def test_a_kill_between_any_two_operations_leaves_a_model_and_the_run_goes_on(tmp_path: Path) -> None:
    for number in count():
        folder = ModelFolder(tmp_path / str(number))
        folder.path.mkdir()
        for step in (1, 2, 3):
            save(folder, checkpoint_at(step, average=True))
        try:
            with failing_at(number, Killed):
                save(folder, checkpoint_at(4, average=True))
            survived = True
        except Killed:
            survived = False
        weights = load_weights(folder.path)
        assert weights["layer.weight"][0, 0] in (2.5, 3.5)
        name, complaints = find_checkpoint(folder)
        assert name in ("step-00000003", "step-00000004")
        assert complaints == []
        folder.sweep()
        again = save(folder, checkpoint_at(4, average=True))
        assert_same(load_checkpoint(folder, again), checkpoint_at(4, average=True))
        assert not [path for path in folder.checkpoints.iterdir() if path.name.startswith(".")]
        if survived:
            break
    assert number > 20, "the disk was hardly used; are its operations still watched?"


def test_content_is_on_the_disk_before_the_name_that_leads_to_it(folder: ModelFolder) -> None:
    with failing_at(10**9, Killed) as done:
        save_checkpoint(folder, checkpoint_at(1))
    written = len(FILES) - 1
    # The folder is made (after its parents), each file written through, then the folder, then the name in its parent.
    synced = ["open", "fsync"]
    assert [name for name in done if name != "mkdir"] == ["fsync"] * written + [*synced, "rename", *synced]
    with failing_at(10**9, Killed) as done:
        folder.set_current("step-00000001")
    assert done == ["fsync", "replace", *synced]


def test_a_full_disk_costs_the_new_checkpoint_only(tmp_path: Path) -> None:
    for number in count():
        folder = ModelFolder(tmp_path / str(number))
        folder.path.mkdir()
        save(folder, checkpoint_at(1))
        said = None
        try:
            with failing_at(number, lambda: OSError(ENOSPC, os.strerror(ENOSPC))):
                save_checkpoint(folder, checkpoint_at(2))
        except TrainingError as error:
            said = str(error)
        assert load_weights(folder.path)["layer.bias"][0] == 1
        assert find_checkpoint(folder) == ("step-00000001", [])
        if said is None:
            break
        assert said == (
            f"{folder.path}: checkpoint step-00000002 could not be written: No space left on device. "
            "Earlier checkpoints are intact; make room on this disk, then continue with --resume"
        )
    assert number > 5


def test_earlier_checkpoints_are_spoken_of_where_there_are_some(folder: ModelFolder) -> None:
    full = OSError(ENOSPC, os.strerror(ENOSPC))
    assert str(cannot_write(folder, "metrics.jsonl", full)) == (
        f"{folder.path}: metrics.jsonl could not be written: No space left on device. "
        "Make room on this disk, then continue with --resume"
    )


def test_a_real_limit_on_the_size_of_files_is_met_in_the_same_way(folder: ModelFolder) -> None:
    resource = pytest.importorskip("resource")
    save(folder, checkpoint_at(1))
    large = Checkpoint({"weight": torch.zeros(4096)}, {}, None, None, Progress(step=2))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(TrainingError, match="checkpoint step-00000002 could not be written: File too large"):
            save_checkpoint(folder, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert find_checkpoint(folder) == ("step-00000001", [])
