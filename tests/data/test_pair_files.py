"""Files of pairs: every form gives the same pairs, and whatever is wrong is told by file and line."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_strategies import data, two_files, write

from regard import disk
from regard.data import Pair, load_corpus
from regard.data.corpora import CORPORA
from regard.data.pair_files import PairFiles
from regard.errors import DataError, EncodingError
from regard.recipe import Data

lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\t\ufeff"), max_size=12)
pairs_of_lines = st.lists(st.tuples(lines, lines), min_size=1, max_size=5)


def read(*paths: str, **settings: object) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in load_corpus(data(train=list(paths), **settings), seed=1).train]


def refused(*paths: str, **settings: object) -> str:
    with pytest.raises(DataError) as refusal:
        read(*paths, **settings)
    return str(refusal.value)


@pytest.mark.parametrize("packed", ["", ".gz"])
@given(pairs=pairs_of_lines)
def test_every_form_gives_the_same_pairs(
    packed: str, pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    source = write(folder / f"a.de{packed}", "".join(f"{source}\n" for source, _ in pairs))
    target = write(folder / f"a.en{packed}", "".join(f"{target}\n" for _, target in pairs))
    table = write(folder / f"a.tsv{packed}", "".join(f"{source}\t{target}\n" for source, target in pairs))
    records = [json.dumps({"source": source, "target": target, "id": 3}) + "\n" for source, target in pairs]
    record = write(folder / f"a.jsonl{packed}", "".join(records))
    assert read(source, target) == read(table) == read(record) == pairs


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    odd = "a\u2028b\u0085c\x0bd\x0ce\x1cf\rg"
    assert read(*two_files(tmp_path, [(odd, "x"), ("y", odd)])) == [(odd, "x"), ("y", odd)]


def test_the_last_line_needs_no_line_feed(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.tsv", "a\tb\nc\td")) == [("a", "b"), ("c", "d")]


def test_windows_line_ends_and_byte_order_marks_are_no_text(tmp_path: Path) -> None:
    source = write(tmp_path / "a.de", b"\xef\xbb\xbfeins\r\nzwei\r\n")
    target = write(tmp_path / "a.en", b"one\n\xef\xbb\xbftwo\n")
    assert read(source, target) == [("eins", "one"), ("zwei", "\ufefftwo")]


def test_fields_of_json_lines_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"de": "eins", "en": "one"}\n')
    assert read(path, source_field="de", target_field="en") == [("eins", "one")]


def test_files_can_be_read_again(tmp_path: Path) -> None:
    train = load_corpus(data(train=two_files(tmp_path, [("a", "b")] * 3)), seed=1).train
    assert list(train) == list(train) == [Pair("a", "b")] * 3


def test_parts_that_are_not_named_are_empty(tmp_path: Path) -> None:
    corpora = load_corpus(data(train=two_files(tmp_path, [("a", "b")])), seed=1)
    assert list(corpora.dev) == list(corpora.test) == []


def test_every_corpus_of_a_recipe_loads() -> None:
    for name in set(CORPORA) - {"files"}:
        corpora = load_corpus(Data.model_validate({"corpus": name, "examples": 3}), seed=1)
        assert len(list(corpora.train)) == 3


# What is wrong.


def test_a_missing_file_names_its_neighbors(tmp_path: Path) -> None:
    source, target = two_files(tmp_path, [("a", "b")])
    missing = str(tmp_path / "train.fr")
    message = refused(missing, target)
    assert message.startswith(f"{missing}: no such file; in that folder are 'train.")
    nowhere = str(tmp_path / "none" / "a.de")
    assert refused(source, nowhere) == f"{nowhere}: no such file"


def test_a_folder(tmp_path: Path) -> None:
    _, target = two_files(tmp_path, [("a", "b")])
    assert refused(str(tmp_path), target) == f"{tmp_path}: this is a folder; name a file in it"


def test_an_empty_file(tmp_path: Path) -> None:
    _, target = two_files(tmp_path, [("a", "b")])
    empty = write(tmp_path / "empty.de", "")
    assert refused(empty, target) == f"{empty}: the file is empty; name one with text"


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.de"
    os.mkfifo(pipe)
    _, target = two_files(tmp_path, [("a", "b")])
    message = f"{pipe}: not a regular file; write the text into one, as it is read more than once"
    assert refused(str(pipe), target) == message


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = two_files(tmp_path, [("a", "b")])

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    assert refused(source, target) == f"{source}: cannot be read: Permission denied"


def test_gzip_that_is_none(tmp_path: Path) -> None:
    source, target = str(tmp_path / "a.de.gz"), write(tmp_path / "a.en", "b\n")
    Path(source).write_bytes(b"plain text\n")
    message = f"{source}:1: the name ends in .gz, but this is not gzip data; rename the file"
    assert refused(source, target) == message


def test_gzip_that_is_cut_off_or_damaged(tmp_path: Path) -> None:
    text = "".join(f"{number} {number * 7919 % 1013}\n" for number in range(5000))
    packed = gzip.compress(text.encode())
    source, target = str(tmp_path / "a.de.gz"), write(tmp_path / "a.en", text)
    Path(source).write_bytes(packed[: len(packed) // 2])
    message = refused(source, target)
    assert message.startswith(f"{source}:")
    assert message.endswith(": the gzip data is cut off or damaged here; get or pack the file again")
    middle = len(packed) // 2
    Path(source).write_bytes(packed[:middle] + bytes(64) + packed[middle + 64 :])
    assert "the gzip data is cut off or damaged here" in refused(source, target)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST_BYTES", 16)
    path = write(tmp_path / "a.tsv", "a\tb\n" + "x" * 40)
    assert refused(path) == f"{path}:2: a line of more than 16 bytes; is this a file of text lines?"


def test_that_a_line_is_no_text_is_said_by_other_processes_alike() -> None:
    error = EncodingError("a.de:2: byte 0xe4", "save it as UTF-8")
    assert str(error) == "a.de:2: byte 0xe4: not valid UTF-8; save it as UTF-8"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_invalid_utf8(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.de", b"gut\nk\xe4se\ngut\n"), write(tmp_path / "a.en", b"1\n2\n3\n")
    assert refused(source, target) == (
        f"{source}:2: byte 0xe4 at byte 2 of the line: not valid UTF-8; "
        f"it seems to be CP1252; convert it: iconv -f CP1252 -t UTF-8 {source} > {tmp_path / 'a.utf8.de'}, "
        'or set data.invalid to "replace" or "drop"'
    )
    assert read(source, target, invalid="replace") == [("gut", "1"), ("k\ufffdse", "2"), ("gut", "3")]
    assert read(source, target, invalid="drop") == [("gut", "1"), ("gut", "3")]


def test_half_a_surrogate_pair_in_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "a\\ud800b", "target": "\\ud83d\\ude00"}\n')
    assert refused(path).startswith(f"{path}:1: half a surrogate pair, \\ud800: not valid UTF-8; ")
    assert read(path, invalid="replace") == [("a\ufffdb", "😀")]


@pytest.mark.parametrize(("line", "columns"), [("a", "1 column"), ("", "1 column"), ("a\tb\tc", "3 columns")])
def test_a_wrong_number_of_columns(tmp_path: Path, line: str, columns: str) -> None:
    path = write(tmp_path / "a.tsv", f"a\tb\n{line}\n")
    assert refused(path) == (
        f"{path}:2: {columns} instead of 2; a line is the source, one tab character and the target; keep these "
        "(`cut -f 1,2`), or name the columns in a recipe by data.source_field and data.target_field, such as "
        "1 and 3"
    )


def test_columns_of_a_table_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "one\t7\teins\ntwo\t8\tzwei\n")
    assert read(path, source_field="3", target_field="1") == [("eins", "one"), ("zwei", "two")]
    assert read(path, source_field=3, target_field=1) == [("eins", "one"), ("zwei", "two")]
    assert refused(path, source_field="1", target_field="4") == (
        f"{path}:1: 3 columns, but data.source_field or data.target_field names column 4; "
        "give each line as many columns, or name another one"
    )
    assert refused(path, source_field="de", target_field="1") == (
        f"{path}: data.source_field = 'de' is not a column; give its number, from 1 on, such as 1"
    )


def test_nested_fields_of_json_lines_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"id": 1, "translation": {"de": "eins", "en": "one"}}\n')
    assert read(path, source_field="translation.de", target_field="translation.en") == [("eins", "one")]
    there = "there are 'id', 'translation.de' or 'translation.en'; set data.source_field to the right one"
    assert refused(path) == f"{path}:1: no field 'source'; {there}"


@pytest.mark.parametrize("form", ["lines", "tsv", "jsonl"])
def test_nul_is_no_text(tmp_path: Path, form: str) -> None:
    if form == "jsonl":
        path = write(tmp_path / "a.jsonl", '{"source": "a\\u0000b", "target": "c"}\n')
        assert refused(path) == f"{path}:1: a NUL character in field 'source', so this is not text; remove it"
        return
    paths = two_files(tmp_path, [("a\0b", "c")]) if form == "lines" else [write(tmp_path / "a.tsv", "a\0b\tc\n")]
    remedy = "name a plain text file, packed by gzip or not"
    assert refused(*paths) == f"{paths[0]}:1: a NUL byte at byte 2 of the line, so this is not text; {remedy}"


def test_utf_16_is_named_with_the_command_that_converts_it(tmp_path: Path) -> None:
    source, target = write(tmp_path / "a.de", "eins\nzwei\n".encode("utf-16-le")), write(tmp_path / "a.en", b"1\n2\n")
    assert refused(source, target) == (
        f"{source}:1: a NUL byte at byte 2 of the line, so this is not text; it seems to be UTF-16LE; "
        f"convert it: iconv -f UTF-16LE -t UTF-8 {source} > {tmp_path / 'a.utf8.de'}"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not valid JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); a line"),
        ("", "not valid JSON (Expecting value: line 1 column 1 (char 0)); a line is one JSON object"),
        ("[" * 100_000, "JSON too deeply nested; a line is one JSON object of strings"),
        ("[1]", "a JSON list instead of an object such as {'source': …}"),
        ('{"target": "b", "sorce": 1}', "no field 'source'; there are 'sorce' or 'target'; set data.source_field"),
        ("{}", "no field 'source'; there are none; set data.source_field to the right one"),
        ('{"source": 3, "target": "b"}', "field 'source' is 3 and not a string; put quotes around it"),
        ('{"source": "a", "target": null}', "field 'target' is null and not a string; put quotes around it"),
        (json.dumps({"source": ["x" * 99], "target": ""}), f"field 'source' is [\"{'x' * 38}… and not a string"),
    ],
)
def test_broken_json_lines(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "a", "target": "b"}\n' + line + "\n")
    assert refused(path).startswith(f"{path}:2: {message}")


@pytest.mark.parametrize("names", [["a.txt"], ["a.tsv", "b.tsv"], ["a.de", "b.jsonl"], ["a.tsv.zip"]])
def test_forms_that_are_not_known(names: list[str]) -> None:
    assert refused(*names) == (
        f"data.train = {names!r}: expected two files of lines (source, target), or one whose name ends in .tsv or "
        ".jsonl and holds both sides; each may end in .gz, and data.format tells for other names"
    )


def test_unequal_numbers_of_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "a.de", "".join(f"{'x' * (7 * n % 41 + 1)}\n" for n in range(90)))
    target = write(tmp_path / "a.en", "".join(f"{'y' * (7 * n % 41 + 2)}\n" for n in range(90) if n != 30))
    message = refused(source, target)
    assert message.startswith(
        f"{source} has 90 lines and {target} 89, none for {source}:90; they stop belonging together near line "
    )
    assert message.endswith(". Mend the files so that line n of one belongs to line n of the other")
    assert abs(int(message.split("near line ")[1].split()[0]) - 31) <= 2


def test_lines_missing_at_the_end(tmp_path: Path) -> None:
    source = write(tmp_path / "a.de", "eins\nzwei\ndrei\n")
    target = write(tmp_path / "a.en", "one\ntwo\n")
    assert refused(source, target) == (
        f"{source} has 3 lines and {target} 2, none for {source}:3; nothing shows where they stop belonging together; "
        f"lines may be missing at the end of {target}. Mend the files so that line n of one belongs to line n of the "
        "other"
    )


def test_places_name_the_side() -> None:
    assert PairFiles(["a.de", "a.en"]).place(3, side=1) == "a.en:3"
    assert PairFiles(["a.tsv"]).place(3, side=1) == "a.tsv:3"
