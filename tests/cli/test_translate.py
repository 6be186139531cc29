"""`regard translate`: line for line, whatever the lines are."""

import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from command_line import Trained, regard, regard_alone

import regard as library
from regard.decode import Session


def translated(trained: Trained, *options: object, stdin: bytes) -> list[list[str]]:
    """The columns of each output line."""
    told = regard("translate", trained.folder, *options, stdin=stdin)
    assert (told.code, told.err) == (0, "")
    assert told.out == "" or told.out.endswith("\n")
    return [line.split("\t") for line in told.out.split("\n")[:-1]]


def by_the_library(trained: Trained, text: str) -> str:
    return library.load(trained.folder).translate([text])[0].text


def test_a_line_for_a_line(trained: Trained) -> None:
    words, house, colours = (by_the_library(trained, text) for text in ("eins zwei", "Haus", "rot und blau"))
    assert len({words, house, colours}) == 3
    stdin = b"eins zwei\n\nHaus\n \t \nrot und blau\n"
    assert translated(trained, stdin=stdin) == [[words], [""], [house], [""], [colours]]


def test_in_a_process_of_its_own(trained: Trained) -> None:
    ended = regard_alone("translate", trained.folder, input=b"eins zwei\n\nHaus")
    assert (ended.returncode, ended.stderr) == (0, b"")
    wanted = [by_the_library(trained, "eins zwei"), "", by_the_library(trained, "Haus")]
    assert ended.stdout.decode() == "".join(line + "\n" for line in wanted)


def test_nothing_in_nothing_out(trained: Trained) -> None:
    assert translated(trained, stdin=b"") == []


def test_windows_line_ends_are_no_text(trained: Trained) -> None:
    assert translated(trained, stdin=b"eins\r\nzwei\r\n\r\n") == translated(trained, stdin=b"eins\nzwei\n\n")


def test_only_a_line_feed_ends_a_line(trained: Trained) -> None:
    assert len(translated(trained, stdin="eins\u2028zwei\x0bdrei\x85vier\n".encode())) == 1


def test_a_text_of_unknown_words_gives_a_line(trained: Trained) -> None:
    assert len(translated(trained, stdin="Käsekuchen 🍰\n".encode())) == 1


def test_invalid_text_is_named_by_line(trained: Trained) -> None:
    told = regard("translate", trained.folder, stdin=b"eins\nzw\xffei\n")
    assert told.code == 2
    assert told.err == (
        "regard: standard input, line 2: not valid UTF-8 (byte 3 of the line); "
        "convert the text first, for example with iconv\n"
    )
    told = regard("translate", trained.folder, stdin="eins\n".encode("utf-16-le"))
    assert told.code == 2
    assert told.err == (
        "regard: standard input, line 1: contains a NUL byte (byte 2), so this is not a text file; "
        "convert the text first, for example with iconv (is it UTF-16?)\n"
    )


def test_n_best_with_all_columns(trained: Trained) -> None:
    rows = translated(trained, "--beam", 4, "--n-best", 3, "--scores", "--alignments", stdin=b"eins zwei\n\nHaus\n")
    assert [row[0] for row in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    assert rows[3] == ["1", "", "", ""]
    assert all(len(row) == 4 for row in rows)
    scores = [float(row[2]) for row in rows[:3]]
    assert scores == sorted(scores, reverse=True)
    assert rows[0][1] == by_the_library(trained, "eins zwei")
    assert all(re.fullmatch(r"(\d+-\d+ ?)*", row[3]) for row in rows)


def test_more_outputs_than_the_recipe_s_beam_widen_it(trained: Trained) -> None:
    assert len(translated(trained, "--n-best", 7, stdin=b"eins zwei\n")) == 7


def test_settings_of_decoding_can_be_changed(trained: Trained) -> None:
    short = ["--set", "decode.longest_factor=0.0", "--set", "decode.longest_extra=1"]
    (row,) = translated(trained, *short, stdin=b"eins zwei\n")
    assert len(row[0].split()) == 1


def test_a_metric_that_is_none_is_refused_in_one_line(trained: Trained) -> None:
    told = regard("translate", trained.folder, "--set", "decode.risk=ter", stdin=b"eins\n")
    assert (told.code, told.out) == (2, "")
    words = "decode.risk = 'ter' is not allowed; allowed are 'none', 'chrf' or 'bleu'"
    assert told.err == f"regard: --set 'decode.risk=ter': {words}\n"


def test_sampling_is_a_function_of_its_seed(trained: Trained) -> None:
    hot = ["--set", "decode.method=sample", "--set", "decode.temperature=9.0"]
    lines = b"eins zwei drei\n" * 5
    first, second = (translated(trained, *hot, "--set", f"decode.seed={seed}", stdin=lines) for seed in (1, 2))
    assert first == translated(trained, *hot, "--set", "decode.seed=1", stdin=lines)
    assert first != second


def test_what_else_is_translated_changes_nothing(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"eins zwei\nHaus\n\nrot und blau\n"
    together = translated(trained, "--scores", stdin=lines)
    monkeypatch.setattr("regard.cli.lines.AT_ONCE", 2)
    in_pieces = translated(trained, "--scores", stdin=lines)
    assert [row[0] for row in in_pieces] == [row[0] for row in together]


def test_the_library_says_the_same(trained: Trained) -> None:
    best = library.load(trained.folder).translate(["eins zwei"])[0]
    (row,) = translated(trained, "--scores", "--alignments", stdin=b"eins zwei\n")
    assert best.alignment
    assert row == [best.text, f"{best.score:.4f}", " ".join(f"{i}-{j}" for i, j in sorted(best.alignment))]


def test_a_model_that_moved_still_translates(trained: Trained, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(trained.folder)
    assert regard("translate", elsewhere, stdin=b"Haus\n").out == by_the_library(trained, "Haus") + "\n"


@pytest.mark.parametrize(("options", "text"), [([], "a  b c\td"), (["--scores", "--alignments"], "a  b c d")])
def test_a_line_end_inside_an_output_is_a_space(
    trained: Trained, monkeypatch: pytest.MonkeyPatch, options: list[str], text: str
) -> None:
    monkeypatch.setattr(type(library.load(trained.folder).target_tokenizer), "decode", lambda *_: "a\r\nb\nc\td")
    told = regard("translate", trained.folder, *options, stdin=b"eins\nzwei\n")
    assert told.code == 0, told.err
    lines = told.out.split("\n")
    assert len(lines) == 3
    assert all(line.startswith(text) for line in lines[:2])


def test_why_steps_are_not_captured_is_said_once(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Session.why_eager

    def on_cuda(session: Session, *given: Any, **named: Any) -> str | None:
        with mock.patch.object(Session, "device", torch.device("cuda")):
            return asked(session, *given, **named)

    monkeypatch.setattr(Session, "why_eager", on_cuda)
    penalized, stdin = ["--set", "decode.coverage_penalty=0.1"], b"eins\nzwei\n"
    monkeypatch.setattr("regard.cli.lines.AT_ONCE", 1)
    said = "decoding steps are executed eagerly, not as captured CUDA graphs: "
    said += "the coverage penalty reads attention weights\n"
    assert regard("translate", trained.folder, *penalized, stdin=stdin).err == said
    assert regard("translate", trained.folder, stdin=stdin).err == ""
    assert regard("evaluate", trained.folder, *penalized).err == said
    monkeypatch.undo()
    assert regard("translate", trained.folder, *penalized, stdin=stdin).err == ""


def test_that_capturing_failed_is_said_afterwards(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([None, "not captured: because"])
    monkeypatch.setattr(Session, "why_eager", lambda *_, **__: next(answers))
    assert regard("translate", trained.folder, stdin=b"eins\n").err == "not captured: because\n"
