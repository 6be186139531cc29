"""`regard back-translate`: pairs that can be trained on, and what is said about them."""

from pathlib import Path

import pytest
from command_line import Trained, regard

import regard as library
from regard.tasks import Translator


def test_pairs_are_written_sources_and_given_targets(trained: Trained, tmp_path: Path) -> None:
    text, pairs = tmp_path / "more.de", tmp_path / "pairs.tsv"
    text.write_text("eins zwei\n\nHaus\nrot und blau\n", encoding="utf-8")
    told = regard("back-translate", trained.folder, text, "-o", pairs, "--tag", "<bt>")
    assert (told.code, told.out) == (0, "")
    assert told.err == f"{pairs}: 3 pairs from 4 lines; left out: blank lines 1\n"
    wanted = ["eins zwei", "Haus", "rot und blau"]
    sources = [best.text for best in library.load(trained.folder).translate(wanted)]
    lines = [f"<bt> {source}\t{target}" for source, target in zip(sources, wanted, strict=True)]
    assert pairs.read_text(encoding="utf-8").split("\n")[:-1] == lines
    assert regard("check", pairs).code == 0


def test_what_is_left_out_is_said(trained: Trained, tmp_path: Path) -> None:
    text, pairs = tmp_path / "more.de", tmp_path / "pairs.tsv"
    text.write_text("eins\neins zwei\tdrei vier\n", encoding="utf-8")
    short = ["decode.method=greedy", "decode.longest_factor=0.0", "decode.longest_extra=1"]
    changes = [word for setting in short for word in ("--set", setting)]
    told = regard("back-translate", trained.folder, text, "-o", pairs, *changes)
    assert told.code == 0
    assert told.err.endswith(
        "1 pair from 2 lines; left out: outputs that reached the length limit 1; tabs became spaces in 1 line\n"
    )


def test_ctrl_c_keeps_what_is_done(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, pairs = tmp_path / "more.de", tmp_path / "pairs.tsv"
    text.write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    monkeypatch.setattr("regard.tasks.backtranslation.LINES_AT_ONCE", 1)
    translate, calls = Translator.translate, []

    def impatient(self: Translator, texts: list[str], **options: object) -> object:
        calls.append(texts)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return translate(self, texts, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Translator, "translate", impatient)
    told = regard("back-translate", trained.folder, text, "-o", pairs)
    assert (told.code, told.err) == (130, "stopped; 1 line done and safe; continue with --resume\n")
    assert not pairs.exists()
    assert regard("back-translate", trained.folder, text, "-o", pairs, "--resume").code == 0
    assert calls == [["eins"], ["zwei"], ["zwei"], ["drei"]]
    assert [line.split("\t")[1] for line in pairs.read_text().splitlines()] == ["eins", "zwei", "drei"]


def test_what_is_wrong_is_one_message(trained: Trained, tmp_path: Path) -> None:
    told = regard("back-translate", trained.folder, tmp_path / "more.de", "-o", tmp_path / "pairs.txt")
    assert told.code == 2
    assert told.err.startswith(f"regard: {tmp_path / 'pairs.txt'}: pairs are written as tab-separated values")
    told = regard("back-translate", trained.folder, tmp_path / "more.de", "-o", tmp_path / "pairs.tsv")
    assert (told.code, told.err) == (2, f"regard: {tmp_path / 'more.de'}: no such file\n")
