"""The cache on disk gives back what was put in, and is whole or not there."""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import cache
from regard.data.cache import (
    Ragged,
    RaggedWriter,
    Side,
    TextPairs,
    new_folder,
    passing_folder,
    remove_other_caches,
    sweep,
    write_texts,
)
from regard.tokens.rows import Rows

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(rows=st.lists(st.lists(st.integers(0, 65535), max_size=5), max_size=9), flush=st.integers(1, 4))
def test_rows_come_back(rows: list[list[int]], flush: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("ragged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_FLUSH_EVERY", flush)
        with RaggedWriter(folder, "rows", np.uint16) as writer:
            for row in rows[:5]:
                writer.append(row)
            writer.extend(Rows.of(rows[5:7]))
            for row in rows[7:]:
                writer.append(row)
    read = Ragged(folder, "rows")
    assert [read[index].tolist() for index in range(len(read))] == rows
    some = [*range(len(rows))[::2], *range(len(rows))[::-1]]
    assert read.pick(np.array(some, dtype=np.int64)).lists() == [rows[index] for index in some]


@given(pairs=st.lists(st.tuples(texts, texts), max_size=6))
def test_texts_come_back(pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("texts")
    write_texts(folder, pairs)
    read = TextPairs(folder)
    assert list(read) == pairs
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    assert list(Side(read, 0)) == sources
    assert list(Side(read, 0, 1)) == sources + targets
    for start in range(len(pairs)):
        assert (read.some(start, start + 2, 0), read.some(0, start, 1)) == (sources[start : start + 2], targets[:start])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_READ_AT_ONCE", 2)
        assert list(Side(read, 1, 0)) == targets + sources


def test_rows_are_not_held_in_memory(tmp_path: Path) -> None:
    write_texts(tmp_path, [("a", "b")])
    values = Ragged(tmp_path, "text")[0]
    owner = values
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert isinstance(owner, np.memmap)


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "cache") as unfinished:
        (unfinished / "file").write_text("text")
        assert not (tmp_path / "a" / "cache").exists()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["cache"]
    assert (tmp_path / "a" / "cache" / "file").read_text() == "text"


def test_a_folder_that_failed_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "cache"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_faster_of_two_processes_wins(tmp_path: Path) -> None:
    with new_folder(tmp_path / "cache") as unfinished:
        (unfinished / "file").write_text("slow")
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache" / "file").write_text("fast")
    assert (tmp_path / "cache" / "file").read_text() == "fast"
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    here = platform.node()
    left, others = f"a.{here}.{ended.pid}.new", ["b.elsewhere.1.new", f"c.{here}.{os.getpid()}.new", "0123456789abcdef"]
    for name in (left, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
    sweep(tmp_path / "missing")


def test_a_folder_in_the_making_bears_the_name_that_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with passing_folder(tmp_path / "cache") as unfinished:
        sweep(tmp_path)
        assert unfinished.exists()
        monkeypatch.setattr("regard.data.cache._is_alive", lambda process: process != os.getpid())
        sweep(tmp_path)
        assert not unfinished.exists()


def test_other_caches_go_and_other_things_stay(tmp_path: Path) -> None:
    for name in ("0123456789abcdef", "fedcba9876543210", "mine"):
        (tmp_path / name).mkdir()
    remove_other_caches(tmp_path / "0123456789abcdef")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0123456789abcdef", "mine"]
