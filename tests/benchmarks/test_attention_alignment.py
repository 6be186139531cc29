"""Translators whose attention is judged: how they are trained, and what is said of them."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from types import ModuleType

import pytest
from command_line import Trained


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("attention_alignment")


def write_text(work: Path) -> None:
    """Two pairs of development text, one of test text, three of training text."""
    for side, words in (("source", "abcdef"), ("target", "uvwxyz")):
        (work / f"es-60000.{side}").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    for part, count in (("dev", 2), ("test", 1)):
        (work / f"es.{part}.links").write_text("0-0\n" * count, encoding="utf-8")


def test_training_text_is_neither_development_nor_test_text(attention: ModuleType, tmp_path: Path) -> None:
    write_text(tmp_path)
    attention.split_text(tmp_path)
    parts = {name: (tmp_path / name).read_text().split() for name in ("dev.en", "test.en", "train.en", "train.es")}
    assert parts == {"dev.en": ["a", "b"], "test.en": ["c"], "train.en": ["d", "e", "f"], "train.es": ["x", "y", "z"]}


@pytest.mark.parametrize(("at_once", "together"), [(1, 1), (2, 2), (0, 4)])
def test_as_many_are_trained_at_once_as_asked_for(
    attention: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, together: int
) -> None:
    write_text(tmp_path)
    (tmp_path / "es-en.2").mkdir()
    all_at_once, more = Barrier(together), Barrier(together + 1)
    begun: list[list[str]] = []

    def trained(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        begun.append(command)
        all_at_once.wait(timeout=20)
        with pytest.raises(BrokenBarrierError):
            more.wait(timeout=0.02)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", trained)
    monkeypatch.setattr(attention.signal, "signal", lambda *_: None)
    attention.train(tmp_path, "multi30k-laptop", [1, 2], ["train.steps=5"], at_once)
    assert sorted(command[command.index("--out") + 1] for command in begun) == [
        "en-es.1",
        "en-es.2",
        "es-en.1",
        "es-en.2",
    ]
    assert all(command[:5] == [sys.executable, "-m", "regard", "train", "multi30k-laptop"] for command in begun)
    assert all("train.steps=5" in command for command in begun)
    assert [command[6] for command in begun if "--resume" in command] == ["es-en.2"]


def test_settings_are_told_as_their_folders_have_them(attention: ModuleType, trained: Trained, tmp_path: Path) -> None:
    for direction in ("en-es", "es-en"):
        (tmp_path / f"{direction}.3").symlink_to(trained.folder)
    told = attention.trained_as(tmp_path, "multi30k-laptop", [3])
    assert told["recipe"] == "multi30k-laptop"
    assert told["settings"]["model.kind"] == "recurrent"
    assert not {"seed", "data.train", "data.dev"} & set(told["settings"])
    assert [each["translator"] for each in told["translators"]] == ["en-es.3", "es-en.3"]
    for each in told["translators"]:
        assert each["steps"] > 0
        assert each["parameters"] > 0
        assert len(each["vocabulary"]) == 2
