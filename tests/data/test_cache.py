"""The cache on disk gives back what was put in, and is whole or not there."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data import cache
from regard.data.cache import Ragged, RaggedWriter, Side, TextPairs, new_folder, write_texts

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(rows=st.lists(st.lists(st.integers(0, 65535), max_size=5), max_size=9), flush=st.integers(1, 4))
def test_rows_come_back(rows: list[list[int]], flush: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("ragged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_FLUSH_EVERY", flush)
        with RaggedWriter(folder, "rows", np.uint16) as writer:
            for row in rows:
                writer.append(row)
    read = Ragged(folder, "rows")
    assert [read[index].tolist() for index in range(len(read))] == rows


@given(pairs=st.lists(st.tuples(texts, texts), max_size=6))
def test_texts_come_back(pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("texts")
    write_texts(folder, pairs)
    read = TextPairs(folder)
    assert list(read) == pairs
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    assert list(Side(read, 0)) == sources
    assert list(Side(read, 0, 1)) == sources + targets


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
