"""Running text: what is read, what is refused with file and line, and where documents begin."""

import gzip
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.built_in_text import HELD_OUT, built_in_text
from regard.data.text import Text, check_text
from regard.errors import DataError
from regard.recipe import LanguageData


def text(path: Path, content: bytes, **settings: Any) -> Text:
    path.write_bytes(content)
    return Text("train", LanguageData(train=[str(path)], **settings))


def given_text(lines: list[str], **settings: Any) -> Text:
    return Text("test", LanguageData(corpus="topics", **settings), lines)


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=8), min_size=1))
def test_lines_come_as_they_are_and_are_counted(lines: list[str]) -> None:
    lines = [*lines, "end"]
    found = given_text(lines)
    assert list(found) == lines
    assert (found.found["lines"], found.found["words"]) == (len(lines), sum(len(line.split()) for line in lines))
    assert found.found["characters"] == sum(map(len, lines))
    without = given_text(lines, empty="drop")
    assert list(without) == [line for line in lines if line.strip()]


def test_files_follow_each_other_and_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"three"))
    data = LanguageData(train=[str(tmp_path / "a"), str(tmp_path / "b.gz")])
    assert list(Text("train", data)) == ["one", "two", "three"]
    lines = check_text(data).lines()
    assert lines[0].startswith(f"train: 3 lines in {tmp_path}/a, {tmp_path}/b.gz, 3 words, 11 characters")
    assert f"train: a byte order mark at the start of {tmp_path}/a: removed" in lines
    assert f"train: 1 line with a Windows line end in {tmp_path}/a: removed" in lines


@pytest.mark.parametrize(("kind", "begins"), [("none", [0]), ("blank", [0, 2, 4, 6]), ("headings", [0, 2, 6])])
def test_where_documents_begin(kind: str, begins: list[int]) -> None:
    lines = ["first", "", " = Title = ", "", " = = Section = = ", "", " = Other = "]
    found = [place for place, (_, starts) in enumerate(given_text(lines, documents=kind).lines()) if starts]
    assert found == begins


def test_empty_lines_may_be_dropped_and_still_part_documents() -> None:
    found = list(given_text(["a", "", "b"], documents="blank", empty="drop").lines())
    assert found == [("a", True), ("b", True)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "there is no line of text in {path}; name a file with text"),
        (b"fine\nPK\0\3", "{path}:2: a NUL byte at byte 3 of the line, so this is not text; name a plain text file"),
        (b"fine\nbad \xff", "{path}:2: byte 0xff at byte 5 of the line: not valid UTF-8; save the text as UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_file_and_line(tmp_path: Path, content: bytes, words: str) -> None:
    found = text(tmp_path / "text", content)
    with pytest.raises(DataError) as refusal:
        list(found)
    assert words.format(path=tmp_path / "text") in str(refusal.value)
    report = check_text(found.data)
    assert words.format(path=tmp_path / "text") in report.refused[0].line()


def test_lines_at_hand_are_checked_too() -> None:
    with pytest.raises(DataError, match="line 2: a NUL character, so this is not text"):
        list(given_text(["a", "\0"]))
    with pytest.raises(DataError, match="there is no line of text in what was given; name a file with text"):
        list(given_text([""]))


@pytest.mark.parametrize(("remedy", "lines"), [("drop", ["a"]), ("replace", ["a", "\ufffd"])])
def test_invalid_lines_are_dropped_or_mended_and_counted(tmp_path: Path, remedy: str, lines: list[str]) -> None:
    found = text(tmp_path / "text", b"a\n\xff\n", invalid=remedy)
    assert list(found) == lines
    done = {"drop": "dropped", "replace": "replaced"}[remedy]
    assert any(line.startswith(f"train: 1 line of invalid UTF-8: {done} (data.invalid)") for line in check_lines(found))


def check_lines(found: Text) -> list[str]:
    return check_text(found.data).lines()


def test_doubtful_lines_are_reported_with_their_places(tmp_path: Path) -> None:
    found = text(tmp_path / "text", b"a\n\nb \x01\n<unk>\n")
    lines = check_lines(found)
    assert f"train: 1 line without text: kept (data.empty); {tmp_path}/text:2" in lines
    assert f"train: 1 line with control characters: kept; {tmp_path}/text:3 (U+0001)" in lines
    note = (
        "train: <unk> stands 1 time in the text, as a word like others; if it means an unknown word, "
        'set tokens.unknown = "<unk>"'
    )
    assert note in lines
    assert not any("<unk>" in line for line in check_text(found.data, "<unk>").lines())


@pytest.mark.parametrize("corpus", ["topics", pytest.param("library", marks=pytest.mark.long)])
def test_built_in_text_in_three_splits_by_document(corpus: str) -> None:
    splits = {split: built_in_text(corpus, split) for split in ("train", "dev", "test")}
    paragraphs = [line for lines in splits.values() for line in lines if not line.startswith(" = ")]
    assert len(paragraphs) == len(set(paragraphs))
    headings = {split: {line for line in lines if line.startswith(" = ")} for split, lines in splits.items()}
    assert not headings["train"] & headings["dev"]
    assert not headings["dev"] & headings["test"]
    assert not headings["train"] & headings["test"]
    sizes = {split: sum(map(len, lines)) for split, lines in splits.items()}
    assert 0.5 * HELD_OUT < sizes["dev"] / sum(sizes.values()) < 1.5 * HELD_OUT
    assert 0.5 * HELD_OUT < sizes["test"] / sum(sizes.values()) < 1.5 * HELD_OUT
    assert all(line.strip() for lines in splits.values() for line in lines)
    found = Text("dev", LanguageData(corpus=corpus, documents="headings"))
    assert sum(starts for _, starts in found.lines()) == len(headings["dev"])


def test_figures_on_built_in_text_name_what_they_depend_on() -> None:
    built_in = Text("test", LanguageData(corpus="topics"))
    assert re.fullmatch(rf"topics of Python {platform.python_version()}, [0-9a-f]{{8}}", built_in.origin)
    assert given_text(["a line"]).origin == ""
