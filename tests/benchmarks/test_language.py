"""Language models on their benchmarks: trained, scored, compared with each other, and put together from elsewhere."""

import json
import math
import shutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from language_runs import write_text

SMALL = ("model.embedding=6", "model.hidden=7", "train.epochs=1", "train.batch_tokens=28", "data.segment=7")
SMALL += ("train.threads=1", "tokens.unknown=")


@pytest.fixture
def language(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return import_module("language")


@pytest.fixture
def results(
    language: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[dict[str, Any]]]:
    """What the command writes, given its arguments."""

    def called(out: str, *arguments: str) -> list[dict[str, Any]]:
        folders = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / out), "--folder", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["language.py", *arguments, *folders])
        language.main()
        figures: list[dict[str, Any]] = json.loads((tmp_path / out).read_text())["figures"]
        return figures

    return called


@pytest.mark.long
def test_models_are_compared_here_and_from_elsewhere(
    results: Callable[..., list[dict[str, Any]]],
    language: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for part, (file,) in write_text(tmp_path).items():
        Path(file).rename(tmp_path / f"ptb.{'valid' if part == 'dev' else part}.txt")
    monkeypatch.setattr(language, "CACHES", language.Caches((5, 20), (0.5,), (0.1, 0.2)))
    small = [argument for change in SMALL for argument in ("--set", change)]
    lstm, rnn = results("here.json", "ptb-lstm", "ptb-rnn", "--device", "cpu", "--against", "ptb-lstm", *small)
    assert "against" not in lstm
    found = rnn["against"]
    assert found["recipe"] == "ptb-lstm"
    assert found["ratio"] == pytest.approx(rnn["test"]["perplexity"] / lstm["test"]["perplexity"], rel=1e-5)
    assert found["nats"] == pytest.approx(math.log(found["ratio"]))
    assert found["ratio_interval"][0] < found["ratio"] < found["ratio_interval"][1]
    assert "bootstrap samples of 14 lines" in found["interval"]
    assert lstm["cache"] is None

    for place, (name, figure) in enumerate((("ptb-lstm", lstm), ("ptb-rnn", rnn))):
        apart = {key: value for key, value in figure.items() if key != "against"}
        (tmp_path / f"{place}.json").write_text(json.dumps({"figures": [apart]}))
        (tmp_path / str(place)).mkdir()
        shutil.copy(tmp_path / f"here/{name}-1.npy", tmp_path / str(place))
    merge = ["--merge", str(tmp_path / "0.json"), str(tmp_path / "1.json")]
    assert "against" not in results("merged.json", *merge)[1]
    assert results("merged.json", "--against", "ptb-lstm")[1]["against"] == found
    assert results("merged.json")[1]["against"] == found
    capsys.readouterr()
    results("merged.json", "--against", "ptb-window")
    assert "nothing was compared with ptb-window: no other model of its text and seed" in capsys.readouterr().out

    (again,) = results("cached.json", "ptb-lstm", "--device", "cpu", "--cache", *small)
    assert again["test"] == lstm["test"], "what is done is not done again"
    assert (again["cache"]["size"], again["cache"]["theta"]) in ((5, 0.5), (20, 0.5))
    assert "|cache:" in again["cache"]["test"]["signature"]

    def stopped(writer: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(language, "cached", stopped)
    with pytest.raises(KeyboardInterrupt):
        results("stopped.json", "ptb-lstm", "--device", "cpu", "--cache", *small)
    (kept,) = results("stopped.json")
    assert (kept["test"], kept["cache"]) == (lstm["test"], None), "written before a cache is chosen"


def test_lines_of_another_run_are_not_taken(language: ModuleType, tmp_path: Path) -> None:
    lines = np.array([[6.0, 2.0], [3, 1]], dtype=np.float32)
    np.save(tmp_path / "lines.npy", lines)
    assert language.lines_of({"test": {"perplexity": math.exp(2)}}, tmp_path / "lines.npy").tolist() == lines.tolist()
    assert language.lines_of({"test": {"perplexity": math.exp(2.1)}}, tmp_path / "lines.npy") is None
    assert language.lines_of({"test": {"perplexity": 1.0}}, tmp_path / "none.npy") is None


def test_texts_that_differ_are_not_compared(language: ModuleType, tmp_path: Path) -> None:
    for name, sizes in (("a", [3, 1]), ("b", [2, 2]), ("c", [3, 1])):
        np.save(tmp_path / f"{name}-1.npy", np.array([[6, 2], sizes], dtype=np.float32))
    figures = {(name, 1): {"test": {"perplexity": math.exp(2)}} for name in "abc"}
    language.compare_all(figures, ["a"], tmp_path)
    assert ["against" in figures[name, 1] for name in "abc"] == [False, False, True]
    figures["a", 1] = {"test": {"perplexity": math.exp(3)}}
    language.compare_all(figures, [], tmp_path)
    assert "against" not in figures["c", 1], "what it was compared with is another model now"
