"""Lines from standard input and files: the same however they come, and answered as soon as they are there."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import mock

import pytest
from command_line import Trained, regard, stream, text_of
from hypothesis import given
from hypothesis import strategies as st

from regard.cli import lines as room
from regard.cli.lines import pieces_of_lines
from regard.cli.translate import PROMPT
from regard.errors import DataError, UsageError


class Blocks(io.BytesIO):
    """A stream that gives what it has in blocks of these sizes, then of one byte, and now and then nothing yet."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        super().__init__(content)
        self.sizes = sizes

    def read(self, size: int | None = -1, /) -> Any:
        wanted = self.sizes.pop(0) if self.sizes else 1
        return super().read(wanted) if wanted else None


def read(content: bytes, sizes: list[int], at_once: int = 1000) -> tuple[list[tuple[str, str]], str]:
    """The lines with their places, and what was wrong in the end."""
    given = mock.Mock(buffer=Blocks(content, sizes), isatty=lambda: False)
    found: list[tuple[str, str]] = []
    with mock.patch.object(sys, "stdin", given), mock.patch.multiple(room, AT_ONCE=at_once, WAIT=0.001):
        try:
            for piece in pieces_of_lines([], "prompt"):
                assert len(piece) <= at_once
                found += [(line.text, line.place) for line in piece]
        except DataError as error:
            return found, str(error)
    return found, ""


def expected(content: bytes) -> Iterator[bytes]:
    """An independent computation: all of it, cut at line feeds."""
    lines = content.split(b"\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1]):
        line = line if number else line.removeprefix(b"\xef\xbb\xbf")
        yield line[:-1] if line.endswith(b"\r") else line


TEXTS = st.lists(st.sampled_from([b"a", b"\xc3\xa9", b"\n", b"\r\n", b" ", b"\xef\xbb\xbf", b"\x0b"])).map(b"".join)


@given(TEXTS, st.lists(st.integers(0, 5), max_size=8), st.integers(1, 4))
def test_lines_are_the_same_however_they_come(content: bytes, sizes: list[int], at_once: int) -> None:
    found, problem = read(content, sizes, at_once)
    wanted = [line.decode() for line in expected(content)]
    assert ([text for text, _ in found], problem) == (wanted, "")
    assert [place for _, place in found] == [f"standard input, line {n}" for n in range(1, len(wanted) + 1)]


@given(st.integers(0, 5), st.lists(st.integers(1, 9), max_size=8), st.integers(1, 4))
def test_lines_before_a_bad_one_are_given_however_they_come(before: int, sizes: list[int], at_once: int) -> None:
    found, problem = read(b"ab\n" * before + b"b\xffad\nc\n", sizes, at_once)
    assert [text for text, _ in found] == ["ab"] * before
    assert problem == (
        f"standard input, line {before + 1}: not valid UTF-8 (byte 2 of the line); "
        "convert the text first, for example with iconv"
    )


def test_a_line_without_end_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_BYTES", 10)
    found, problem = read(b"a\n" + b"b" * 100, [4] * 20)
    assert found == [("a", "standard input, line 1")]
    assert problem == "standard input, line 2: a line of more than 10 bytes; is this text, a sentence a line?"


def test_a_stream_that_cannot_be_read_is_named() -> None:
    with mock.patch.object(Blocks, "read", side_effect=OSError(5, "Input/output error")):
        assert read(b"", []) == ([], "standard input, line 1: cannot be read: Input/output error")


def test_files_one_after_another_and_standard_input_among_them(tmp_path: Path) -> None:
    first, last = tmp_path / "first.txt", tmp_path / "last.txt"
    first.write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    last.write_bytes(b"d\n\xff\n")
    given = mock.Mock(buffer=io.BytesIO(b"c\n"), isatty=lambda: False)
    with mock.patch.object(sys, "stdin", given):
        pieces = pieces_of_lines([first, Path("-"), last], "prompt")
        found = [(line.text, line.place) for _ in range(3) for line in next(pieces)]
        with pytest.raises(DataError) as error:
            next(pieces)
    assert found == [("a", f"{first}:1"), ("b", f"{first}:2"), ("c", "standard input, line 1"), ("d", f"{last}:1")]
    assert str(error.value).startswith(f"{last}:2: not valid UTF-8 (byte 1 of the line); ")


def test_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match=r"^standard input is closed; pipe text into the command, or name files$"):
        next(pieces_of_lines([], "prompt"))


def test_a_program_that_waits_for_its_answer_gets_it(trained: Trained) -> None:
    """One line is written, its answer read, and only then the next line written."""
    from regard.cli import main

    (reading, writing), (answers, answering), err = os.pipe(), os.pipe(), stream()

    def command() -> None:
        with pytest.raises(SystemExit):
            main()

    with (
        os.fdopen(reading) as stdin,
        os.fdopen(answering, "w") as stdout,
        os.fdopen(answers) as answer,
        mock.patch.multiple(sys, argv=["regard", "translate", str(trained.folder)], stdin=stdin, stdout=stdout),
        mock.patch.object(sys, "stderr", err),
    ):
        # `answer` would wait forever for a command that answers at the end alone; a daemon does not keep the tests.
        thread = Thread(target=command, daemon=True)
        thread.start()
        with os.fdopen(writing, "wb", buffering=0) as lines:
            for source, target in [("eins", "one"), ("Haus", "house"), ("", ""), ("zwei drei", "two three")]:
                lines.write(source.encode() + b"\n")
                assert answer.readline() == target + "\n"
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert text_of(err) == ""


SAMPLING = ["--set", "decode.method=sample", "--set", "decode.temperature=9.0"]


def test_samples_are_the_same_however_lines_come(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """And differ between equal lines, also between the pieces they come in."""
    stdin = b"eins zwei drei\n\neins zwei drei\n" * 4
    whole = regard("translate", trained.folder, *SAMPLING, stdin=stdin).out
    for at_once in (1, 2, 5):
        monkeypatch.setattr(room, "AT_ONCE", at_once)
        assert regard("translate", trained.folder, *SAMPLING, stdin=stdin).out == whole
    assert len({*filter(None, whole.split("\n"))}) > 5


def test_files_are_translated_as_standard_input_is(trained: Trained, tmp_path: Path) -> None:
    first, second = tmp_path / "first.de", tmp_path / "second.de"
    first.write_bytes(b"eins\nzwei\n")
    second.write_bytes(b"Haus")
    told = regard("translate", trained.folder, first, second, "--n-best", 1)
    assert told == regard("translate", trained.folder, "--n-best", 1, stdin=b"eins\nzwei\nHaus\n")
    assert told.out == "0\tone\n1\ttwo\n2\thouse\n"
    second.write_bytes(b"Haus\nzw\xffei\n")
    told = regard("translate", trained.folder, second)
    convert = "convert the text first, for example with iconv"
    assert (told.code, told.out) == (2, "house\n")
    assert told.err == f"regard: {second}:2: not valid UTF-8 (byte 3 of the line); {convert}\n"
    told = regard("translate", trained.folder, tmp_path / "frist.de")
    assert told.err == f"regard: {tmp_path / 'frist.de'}: no such file; in that folder are 'first.de' or 'second.de'\n"


def test_a_person_at_a_terminal_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = mock.Mock(buffer=io.BytesIO(b"Haus\n"), isatty=lambda: True)
    with mock.patch.object(sys, "stdin", terminal):
        assert [[line.text for line in piece] for piece in pieces_of_lines([], PROMPT)] == [["Haus"]]
    assert capsys.readouterr().err == "one sentence a line; Ctrl-D ends\n"


def test_a_line_that_is_no_sentence_is_refused_at_once(trained: Trained) -> None:
    told = regard("translate", trained.folder, stdin=b"Haus\n" + b"eins " * 500_000 + b"\nHaus\n")
    assert (told.code, told.out) == (2, "house\n")
    assert told.err == (
        "regard: standard input, line 2: 500,000 tokens, but at most 4,096 are translated at a time; this model was "
        "trained on texts of at most 256 (data.longest): put each sentence on a line of its own\n"
    )


@pytest.mark.parametrize("sentence", ["eins zwei", "eins und " * 100])
def test_a_sentence_in_place_of_a_file_is_to_be_piped(sentence: str, trained: Trained) -> None:
    told = regard("translate", trained.folder, sentence)
    assert (told.code, told.out) == (2, "")
    assert f"{sentence}: no such file" in told.err
    assert '; to give a sentence itself, pipe it in, as in echo "…" | regard translate MODEL\n' in told.err
