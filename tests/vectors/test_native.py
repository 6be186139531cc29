"""The folder that opens at once."""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from vector_strategies import equal, random_vectors, vectors

from regard import disk
from regard.errors import ModelError, UsageError
from regard.vectors import Vectors, native


@given(vectors())
def test_what_is_loaded_is_what_was_saved(tmp_path_factory: pytest.TempPathFactory, given: Vectors) -> None:
    folder = tmp_path_factory.mktemp("native")
    given.save(folder)
    assert equal(Vectors.load(folder), given)


def test_opening_reads_neither_words_nor_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random_vectors().save(tmp_path)
    monkeypatch.setattr(native.NativeFolder, "words", lambda self: pytest.fail("read the words"))
    opened = Vectors.load(tmp_path)
    assert (len(opened), opened.width) == (40, 6)
    assert isinstance(opened.matrix.base, np.memmap)


def test_changing_numbers_in_memory_leaves_the_file_alone(tmp_path: Path) -> None:
    random_vectors().save(tmp_path)
    opened = Vectors.load(tmp_path)
    opened.torch().zero_()
    assert not opened.matrix.any()
    assert equal(Vectors.load(tmp_path), random_vectors())


def test_new_vectors_take_the_place_of_old_ones(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text("kept")
    random_vectors(seed=1).save(tmp_path)
    old = Vectors.load(tmp_path)
    random_vectors(7, seed=2).save(tmp_path)
    assert equal(Vectors.load(tmp_path), random_vectors(7, seed=2))
    assert equal(old, random_vectors(seed=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("matrix-2.npy", "recipe.toml", "vectors.json", "words-2.txt")
    ]


@pytest.mark.parametrize("killed", ["words-2.txt", "matrix-2.npy", "vectors.json"])
def test_a_kill_while_saving_leaves_the_old_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str) -> None:
    random_vectors(seed=1).save(tmp_path)

    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    if killed == "words-2.txt":
        monkeypatch.setattr(native.os, "fsync", die)
    elif killed == "matrix-2.npy":
        monkeypatch.setattr(native.np, "save", die)
    else:
        monkeypatch.setattr(disk.os, "replace", die)
    with pytest.raises(Killed):
        random_vectors(seed=2).save(tmp_path)
    monkeypatch.undo()
    assert equal(Vectors.load(tmp_path), random_vectors(seed=1))
    random_vectors(seed=3).save(tmp_path)
    assert equal(Vectors.load(tmp_path), random_vectors(seed=3))


def test_what_is_said_about_vectors_is_kept(tmp_path: Path) -> None:
    Vectors(["ä"], np.ones((1, 2), np.float32), {"method": "skipgram", "words": 12}).save(tmp_path)
    assert Vectors.load(tmp_path).about == {"method": "skipgram", "words": 12}


def change(folder: Path, **changes: object) -> None:
    pointer = folder / native.POINTER
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), **changes}))


def test_damage_is_named(tmp_path: Path) -> None:
    def complaint() -> str:
        with pytest.raises(ModelError) as raised:
            list(Vectors.load(tmp_path))
        return str(raised.value).removeprefix(f"{tmp_path}: these vectors are damaged ").removeprefix(str(tmp_path))

    advice = "; make or copy them again"
    random_vectors().save(tmp_path)
    change(tmp_path, words=41)
    assert complaint() == f"(float32 of shape (40, 6) in matrix-1.npy, not float32 of (41, 6)){advice}"
    (tmp_path / "words-1.txt").write_text("one\n")
    change(tmp_path, words=40)
    assert complaint() == f"(1 word for 40 vectors){advice}"
    (tmp_path / "words-1.txt").write_bytes(b"one\ntw\xff\n")
    assert complaint() == f"(byte 0xff in the words is not UTF-8){advice}"
    (tmp_path / "words-1.txt").unlink()
    assert complaint() == f"(words-1.txt is missing){advice}"
    (tmp_path / "matrix-1.npy").write_bytes((tmp_path / "matrix-1.npy").read_bytes()[:200])
    assert complaint().endswith(advice)
    (tmp_path / "matrix-1.npy").unlink()
    assert complaint() == f"(matrix-1.npy is missing){advice}"
    change(tmp_path, format=2, version="9.0")
    assert complaint() == (
        f": written by Regard 9.0 in format 2, but this is Regard {version('regard')}, which reads formats up to 1; "
        "upgrade Regard"
    )
    change(tmp_path, format="two")
    assert complaint().endswith(advice)
    (tmp_path / native.POINTER).write_text("{}")
    assert complaint() == f"('format'){advice}"


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a word with a line end cannot be saved; leave it out"):
        Vectors(["a\nb"], np.zeros((1, 1), np.float32)).save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file: cannot be written \(File exists\); choose another folder"):
        random_vectors().save(tmp_path / "file")
