"""Encodings are told by what they make of the text, and the command that converts a file is given."""

import gzip
import subprocess
from pathlib import Path

import pytest

from regard.disk import Lines, to_utf8
from regard.encodings import encoding_of

TEXTS = {
    "CP1252": "Die Häuser über der Straße – schön. L'été français, où êtes-vous? El niño mañana.",
    "CP1250": "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl ďábelské ódy. Świat jest piękny.",
    "CP1251": "Привет, мир! Это обычный русский текст, в котором слова пишутся как всегда.",
    "KOI8-R": "Привет, мир! Это обычный русский текст, в котором слова пишутся как всегда.",
    "CP1253": "Καλημέρα κόσμε. Αυτό είναι ένα απλό κείμενο στα ελληνικά.",
    "CP932": "東京は日本の首都です。これはただのテキストです。",
    "EUC-JP": "東京は日本の首都です。これはただのテキストです。",
    "GB18030": "北京是中国的首都。这只是一段普通的文字，没有什么特别的意思；我们用它来检查程序。",
    "BIG5": "台北是一個很大的城市。這只是一段普通的文字。",
    "EUC-KR": "서울은 한국의 수도입니다. 이것은 그냥 글입니다.",
    "UTF-16LE": "Ein Haus.\nZwei Häuser.\n",
    "UTF-16BE": "Ein Haus.\nZwei Häuser.\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_encodings_are_told_from_text(name: str) -> None:
    assert encoding_of(TEXTS[name].encode(name)) == name


def test_byte_order_marks_tell_the_encoding() -> None:
    assert encoding_of("ab".encode("utf-16")) == "UTF-16"
    assert encoding_of("ab".encode("utf-32")) == "UTF-32"


def test_bytes_that_fit_nothing() -> None:
    assert encoding_of(bytes(range(128, 256)) * 3) == ""
    assert encoding_of(b"PK\3\4\0\0\0" * 9) == ""


@pytest.mark.parametrize("name", ["a.de", "a b.de.gz"])
@pytest.mark.parametrize("good", [0, 2])
def test_the_command_converts_the_file(tmp_path: Path, name: str, good: int) -> None:
    lines = [f"{line} schöne Häuser\n" for line in range(5)]
    content = "".join(lines[:good]).encode() + "".join(lines[good:]).encode("cp1252")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    told = to_utf8(path)
    assert told.startswith(
        "it seems to be CP1252 from line 3 on; convert it: " if good else "it seems to be CP1252; conv"
    )
    subprocess.run(told.partition("convert it: ")[2], shell=True, check=True)
    converted = path.with_name(name.replace(".", ".utf8.", 1))
    assert [line.decode() for line in Lines(converted)] == [line.strip() for line in lines]


def test_lines_in_several_encodings_or_none(tmp_path: Path) -> None:
    path = tmp_path / "mixed"
    path.write_bytes("schön\n".encode("cp1252") + "schön\n".encode())
    assert to_utf8(path) == "save the text as UTF-8"
    path.write_bytes(bytes(range(128, 256)) + b"\n")
    assert to_utf8(path) == "save the text as UTF-8"
